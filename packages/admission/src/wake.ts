/**
 * Deliveries of a source with `authority: source`: whoever holds the hook's secret can wake, and nothing more. Such a
 * delivery is answered with a deferral; what it is about is read at the source, and that is decided. What was found by
 * looking was read there already. Pure.
 */
import { type Policy, type RoutePolicy, routesToWake, type Signal, type Verdict } from '@headgate/domain';
import type { Submission } from './submission.js';

export function onlyWakes({ signal, promotes }: Submission, policy: Policy): boolean {
  if (promotes != null) return promotes.wake === 'unread';
  if (signal.trigger !== 'event' || signal.via !== 'webhook') return false;
  return policy.sources.some((source) => source.id === signal.source && source.authority === 'source');
}

interface Wake {
  readonly route: RoutePolicy | null;
  readonly verdict: Verdict;
  readonly isWake: true;
}

/** What no route listens to is refused at once, so that nobody makes us read for nothing. */
export function wakeOf(signal: Signal, policy: Policy): Wake {
  const routing = routesToWake(signal, policy);
  const verdict: Verdict =
    routing.kind === 'none'
      ? routing.verdict
      : {
          outcome: 'defer',
          reasonCode: 'HEAD_UNRESOLVED',
          detail: 'Its source is read first (authority: source).',
          // Due at once: the reconciler reads, since nobody is asked before the answer.
          retryAfter: new Date(signal.receivedAt),
          rule: 'source.authority',
        };
  return { route: null, verdict, isWake: true };
}
