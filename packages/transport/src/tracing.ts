/**
 * Spans around publishing and receiving hints, by the messaging conventions of OpenTelemetry.
 *
 * Links, not parents: a run may be worked on an hour after its webhook, and a trace that stays open so long helps
 * nobody. Thin spans of our own rather than BullMQ's telemetry interface, which knows parents only
 * (docs/adr/0003-short-hints.md).
 */
import {
  type Attributes,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { EncodedHint, ReceivedHint } from './hint.js';
import type { PublishOutcome } from './hint-bus.js';
import { asError } from './within.js';

const tracer = () => trace.getTracer('@headgate/transport');

/** A batch links at most so many hints; the SDK would drop links beyond its own limit (128) anyway. */
const MAX_LINKS = 100;

/** The span context of a W3C traceparent; null when it is none. */
export function spanContextOf(traceparent: string | null): SpanContext | null {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '');
  const [, traceId, spanId, flags] = match ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
  };
  return isSpanContextValid(context) ? context : null;
}

function linksTo(traceparents: readonly (string | null)[]): Link[] {
  const links: Link[] = [];
  for (const traceparent of traceparents) {
    const context = spanContextOf(traceparent);
    if (context !== null) links.push({ context });
    if (links.length === MAX_LINKS) break;
  }
  return links;
}

function messagingAttributes(
  queue: string | null,
  operation: string,
  type: string,
  ids: readonly string[],
): Attributes {
  const [first] = ids;
  return {
    'messaging.system': 'bullmq',
    'messaging.operation.name': operation,
    'messaging.operation.type': type,
    ...(queue === null ? {} : { 'messaging.destination.name': queue }),
    ...(ids.length === 1 && first !== undefined
      ? { 'messaging.message.id': first }
      : { 'messaging.batch.message_count': ids.length }),
  };
}

/** A PRODUCER span in the caller's trace, linked to what admitted each run. */
export function tracePublish(
  queue: string,
  hints: readonly EncodedHint[],
  send: () => Promise<PublishOutcome>,
): Promise<PublishOutcome> {
  const ids = hints.map((hint) => hint.jobId);
  return tracer().startActiveSpan(
    `send ${queue}`,
    {
      kind: SpanKind.PRODUCER,
      attributes: messagingAttributes(queue, 'send', 'send', ids),
      links: linksTo(hints.map((hint) => hint.data.traceparent)),
    },
    async (span) => {
      try {
        const outcome = await send();
        if (outcome.failed > 0) {
          span.setStatus({
            code: SpanStatusCode.ERROR,
            message: `${outcome.failed} hints were not confirmed`,
          });
        }
        return outcome;
      } finally {
        span.end();
      }
    },
  );
}

/** A CONSUMER span in a trace of its own, linked to what admitted each run of the batch. */
export function traceReceive(
  hints: readonly ReceivedHint[],
  jobIds: readonly string[],
  handle: () => Promise<void>,
): Promise<void> {
  const queues = new Set(hints.map((hint) => hint.queue));
  const [onlyQueue] = queues;
  const queue = queues.size === 1 && onlyQueue !== undefined ? onlyQueue : null;
  return tracer().startActiveSpan(
    queue === null ? 'process' : `process ${queue}`,
    {
      kind: SpanKind.CONSUMER,
      attributes: messagingAttributes(queue, 'process', 'process', jobIds),
      links: linksTo(hints.map((hint) => hint.traceparent)),
    },
    ROOT_CONTEXT,
    async (span) => {
      try {
        await handle();
      } catch (error) {
        span.recordException(asError(error));
        span.setStatus({ code: SpanStatusCode.ERROR, message: asError(error).message });
        throw error;
      } finally {
        span.end();
      }
    },
  );
}
