import { signBody } from '../github/signature.js';
import type { Sample } from './catalogue.js';
import { rewriteSample, type SampleSubject } from './rewrite.js';

export interface SampleDelivery {
  readonly method: 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface SampleDeliveryOptions {
  readonly sample: Sample;
  readonly subject: SampleSubject;
  /** The source in the configuration that is to receive it. */
  readonly sourceId: string;
  readonly secret: string;
  /** X-GitHub-Delivery. */
  readonly deliveryId: string;
  readonly hookId?: string;
  /** How the hook was set up; JSON by default. */
  readonly encoding?: 'json' | 'form';
}

/** A sample as GitHub would send it: rewritten, encoded, signed. */
export function sampleDelivery(options: SampleDeliveryOptions): SampleDelivery {
  const json = JSON.stringify(rewriteSample(options.sample, options.subject));
  const isForm = options.encoding === 'form';
  const body = Buffer.from(isForm ? new URLSearchParams({ payload: json }).toString() : json, 'utf8');
  return {
    method: 'POST',
    path: `/webhooks/${encodeURIComponent(options.sourceId)}`,
    headers: {
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      'user-agent': 'GitHub-Hookshot/headgate',
      'x-github-event': options.sample.event,
      'x-github-delivery': options.deliveryId,
      ...(options.hookId === undefined ? {} : { 'x-github-hook-id': options.hookId }),
      'x-hub-signature-256': signBody(body, options.secret),
    },
    body,
  };
}
