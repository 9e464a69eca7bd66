/** Publishing hints: validated one by one, grouped by queue, bounded, never an exception. */
import type { Clock } from '@headgate/domain';
import { type EncodedHint, encodeHint, HINT_JOB_NAME, type Hint } from './hint.js';
import type { HintObserver, PublishOutcome } from './hint-bus.js';
import type { HintQueues } from './hint-queues.js';
import { queueNameOf } from './names.js';
import type { ProducerLink } from './producer-link.js';
import { tracePublish } from './tracing.js';

/** One pipeline: about 25 ms of Redis, so that its time-out means trouble and not size. */
const MAX_BULK = 500;

export interface PublisherParts {
  readonly link: ProducerLink;
  readonly queues: HintQueues;
  readonly clock: Clock;
  readonly observe: HintObserver;
}

export async function publishHints(parts: PublisherParts, hints: readonly Hint[]): Promise<PublishOutcome> {
  const { byQueue, invalid } = groupValid(hints);
  for (const [queue, count] of invalid)
    parts.observe({ kind: 'publish-failed', queue, count, reason: 'invalid' });
  const outcomes = await Promise.all(
    [...byQueue].map(([queue, encoded]) =>
      tracePublish(queue, encoded, () => publishToQueue(parts, queue, encoded)),
    ),
  );
  const published = outcomes.reduce((sum, outcome) => sum + outcome.published, 0);
  return { published, failed: hints.length - published };
}

async function publishToQueue(
  parts: PublisherParts,
  queueKey: string,
  encoded: readonly EncodedHint[],
): Promise<PublishOutcome> {
  let published = 0;
  for (let start = 0; start < encoded.length; start += MAX_BULK) {
    const chunk = encoded.slice(start, start + MAX_BULK);
    const startedMs = parts.clock.monotonicMs();
    const answer = await parts.link.run(() => parts.queues.of(queueKey).addBulk(chunk.map(toJob)));
    if (!answer.ok) {
      const count = encoded.length - published;
      parts.observe({ kind: 'publish-failed', queue: queueKey, count, reason: answer.reason });
      break;
    }
    published += chunk.length;
    const durationMs = parts.clock.monotonicMs() - startedMs;
    parts.observe({ kind: 'published', queue: queueKey, count: chunk.length, durationMs });
  }
  return { published, failed: encoded.length - published };
}

const toJob = (hint: EncodedHint) => ({ name: HINT_JOB_NAME, data: hint.data, opts: { jobId: hint.jobId } });

function groupValid(hints: readonly Hint[]) {
  const byQueue = new Map<string, EncodedHint[]>();
  const invalid = new Map<string, number>();
  for (const hint of hints) {
    const encoded = isQueueKey(hint.queue) ? encodeHint(hint) : null;
    if (encoded === null) {
      invalid.set(hint.queue, (invalid.get(hint.queue) ?? 0) + 1);
      continue;
    }
    const group = byQueue.get(hint.queue);
    if (group === undefined) byQueue.set(hint.queue, [encoded]);
    else group.push(encoded);
  }
  return { byQueue, invalid };
}

function isQueueKey(queueKey: string): boolean {
  try {
    queueNameOf(queueKey);
    return true;
  } catch {
    return false;
  }
}
