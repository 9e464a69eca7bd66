/** Builders for the tests of this package. */
import type { Signal } from '@headgate/domain';
import {
  allSamples,
  type Headers,
  type HookReading,
  readWebhook,
  type SampleSubject,
  signBody,
} from '@headgate/sources';

export const RECEIVED_AT = new Date('2026-11-30T10:00:00Z');

export interface Delivered {
  readonly event?: string;
  readonly guid?: string;
  readonly hookId?: string | null;
  readonly headers?: Record<string, string | undefined>;
}

export function headersFor({
  event = 'check_run',
  guid = 'guid-1',
  hookId = '7',
  headers,
}: Delivered): Headers {
  return {
    'content-type': 'application/json',
    'x-github-event': event,
    'x-github-delivery': guid,
    ...(hookId === null ? {} : { 'x-github-hook-id': hookId }),
    ...headers,
  };
}

export function readBytes(rawBody: Uint8Array, delivered: Delivered = {}): HookReading {
  return readWebhook({
    sourceId: 'acme',
    rawBody,
    headers: headersFor(delivered),
    receivedAt: RECEIVED_AT,
    traceparent: null,
  });
}

export const readJson = (payload: unknown, delivered: Delivered = {}): HookReading =>
  readBytes(Buffer.from(JSON.stringify(payload)), delivered);

/** The signal, where nothing else is expected. */
export function signalOf(payload: unknown, delivered: Delivered = {}): Signal {
  const reading = readJson(payload, delivered);
  if (reading.kind !== 'signal') throw new Error(`Not a signal: ${JSON.stringify(reading)}`);
  return reading.signal;
}

export function sampleNamed(name: string) {
  const sample = allSamples().find((it) => it.name === name);
  if (sample === undefined) throw new Error(`No sample ${name}`);
  return sample;
}

/** A copy of a sample's payload, to be changed by the test. */
export const payloadOf = (name: string): Record<string, unknown> => ({
  ...structuredClone(sampleNamed(name).payload),
});

export const signed = (body: Uint8Array, secret: string): Headers => ({
  'x-hub-signature-256': signBody(body, secret),
});

export const HEAD = 'a1'.repeat(20);
export const BASE = 'b2'.repeat(20);

export const SUBJECT: SampleSubject = {
  repository: { id: 42, fullName: 'acme/api', defaultBranch: 'trunk' },
  branch: 'feature/x',
  headSha: HEAD,
  baseSha: BASE,
  at: new Date('2026-11-30T09:59:00Z'),
};
