import type { Signal, SourceKind, SourcePolicy, Verdict } from '@headgate/domain';
import { cloudEvents } from '../cloudevents/module.js';
import { git } from '../git/module.js';
import { github } from '../github/module.js';
import { standardWebhooks } from '../standard-webhooks/module.js';
import { malformedVerdict } from './envelope.js';
import type { RecordedMessage, Reread } from './recorded.js';
import type { SourceModule } from './source-module.js';

/** Every kind of source, once (law 8). */
const SOURCE_MODULES: Readonly<Record<SourceKind, SourceModule>> = {
  github,
  git,
  cloudevents: cloudEvents,
  'standard-webhooks': standardWebhooks,
};

export const moduleOf = ({ kind }: Pick<SourcePolicy, 'kind'>): SourceModule => SOURCE_MODULES[kind];

/** What can be said of a signal without looking at anything else; null: routing and state decide. */
export function judgeSignal(source: SourcePolicy, signal: Signal): Verdict | null {
  return moduleOf(source).judge(signal) ?? replayVerdict(source, signal);
}

/**
 * A kept message, read again: the signal as today's code understands it, under the identity that it came with. Null:
 * nothing that was kept of it can be read.
 */
export function reread(recorded: RecordedMessage): Reread | null {
  const { source, eventId, via, hookId } = recorded;
  const reading = moduleOf(source).reread(recorded);
  if (reading === null) return null;
  const signal = { ...reading.signal, eventId, via, hookId };
  const verdict =
    reading.kind === 'malformed' ? malformedVerdict(reading.detail) : judgeSignal(source, signal);
  return { signal, verdict };
}

/** An event that happened before the replay window is a thing of the past, however it reaches us (I2). */
function replayVerdict({ replayWindowMs }: SourcePolicy, signal: Signal): Verdict | null {
  const { emittedAt, receivedAt } = signal;
  if (replayWindowMs == null || emittedAt === null) return null;
  const ageMs = receivedAt.getTime() - emittedAt.getTime();
  if (ageMs <= replayWindowMs) return null;
  const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
  return {
    outcome: 'reject',
    reasonCode: 'STALE_EVENT',
    detail: `It happened ${seconds(ageMs)} ago; replayWindow is ${seconds(replayWindowMs)}.`,
    retryAfter: null,
  };
}
