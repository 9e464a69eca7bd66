/** The envelope of an event, with nothing read yet (I3). */
import { createHash } from 'node:crypto';
import type { Signal, Verdict } from '@headgate/domain';
import type { HookReading, HookRequest } from './source-module.js';

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

export function envelopeOf(
  {
    source,
    receivedAt,
    traceparent,
  }: Pick<HookRequest, 'receivedAt' | 'traceparent'> & {
    readonly source: Pick<HookRequest['source'], 'id'>;
  },
  known: Pick<Signal, 'eventId' | 'type'> & Partial<Signal>,
): Signal {
  return {
    source: source.id,
    trigger: 'event',
    via: 'webhook',
    hookId: null,
    subject: null,
    emittedAt: null,
    receivedAt,
    actor: null,
    repository: null,
    target: null,
    inputVersion: null,
    sourceAt: null,
    parentVersions: [],
    data: null,
    traceparent: traceparent !== null && TRACEPARENT.test(traceparent) ? traceparent : null,
    ...known,
  };
}

export const malformed = (signal: Signal, detail: string, isMedia = false): HookReading => ({
  kind: 'malformed',
  detail,
  isMedia,
  signal,
});

/** Of a message that is authentic and cannot be read: its receipt says what is wrong with it. */
export const malformedVerdict = (detail: string): Verdict => ({
  outcome: 'reject',
  reasonCode: 'MALFORMED',
  detail,
  retryAfter: null,
});

/** A delivery without an id of its own is known by its bytes: sent again, it is the same one. */
export const idOfBytes = (bytes: Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
