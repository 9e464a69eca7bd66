/** Signed deliveries, as GitHub sends them, and what came back. */
import { randomUUID } from 'node:crypto';
import { findSample, type Sample, sampleDelivery, signBody } from '@headgate/sources';
import { TEST_SECRET } from './policy.js';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export interface DeliveryOptions {
  readonly sample?: Sample | string;
  readonly deliveryId?: string;
  readonly secret?: string;
  readonly source?: string;
  readonly headSha?: string;
  readonly encoding?: 'json' | 'form';
}

export function aDelivery(options: DeliveryOptions = {}) {
  return sampleDelivery({
    sample: sampleOf(options.sample ?? 'check_run.completed#0'),
    sourceId: options.source ?? 'forge',
    secret: options.secret ?? TEST_SECRET,
    deliveryId: options.deliveryId ?? randomUUID(),
    hookId: '1',
    encoding: options.encoding ?? 'json',
    subject: {
      repository: { id: 42, fullName: 'acme/api', defaultBranch: 'main' },
      branch: 'topic',
      headSha: options.headSha ?? 'a'.repeat(40),
      baseSha: null,
      at: new Date(),
    },
  });
}

function sampleOf(sample: Sample | string): Sample {
  if (typeof sample !== 'string') return sample;
  const found = findSample(sample);
  if (found.kind === 'unknown') throw new Error(found.detail);
  return found.sample;
}

export async function post(
  url: string,
  headers: Record<string, string>,
  body: Buffer | string,
): Promise<Reply> {
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

export function deliver(url: string, options: DeliveryOptions = {}): Promise<Reply> {
  const delivery = aDelivery(options);
  return post(`${url}${delivery.path}`, delivery.headers, delivery.body);
}

/** Any bytes under any headers, correctly signed. */
export const signed = (body: Buffer, headers: Record<string, string> = {}): Record<string, string> => ({
  'content-type': 'application/json',
  'x-github-event': 'push',
  'x-github-delivery': randomUUID(),
  'x-hub-signature-256': signBody(body, TEST_SECRET),
  ...headers,
});
