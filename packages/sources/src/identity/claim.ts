/** What a signal says beside its version, so that it can be asked again before the run starts (I6). Pure. */
import type { Asker, RunClaim, Signal } from '@headgate/domain';
import { githubEventOf } from '../github/events.js';
import { at, textAt } from '../github/fields.js';
import { askedAt, causeOf } from './cause.js';

/** Null: the signal claims nothing. */
export function claimOf(signal: Signal): RunClaim | null {
  const event = signal.trigger === 'event' ? githubEventOf(signal.type) : null;
  if (event === null) return null;
  return {
    check: checkOf(event, signal.data),
    baseRef: baseOf(event, signal.data),
    asker: askerOf(signal),
    asked: askedAt(signal),
  };
}

function checkOf(event: string, data: unknown): RunClaim['check'] {
  if (event !== 'check_run' || textAt(data, 'action') !== 'completed') return null;
  const name = textAt(data, 'check_run', 'name');
  const conclusion = textAt(data, 'check_run', 'conclusion');
  return name === null || conclusion === null ? null : { name, conclusion };
}

function baseOf(event: string, data: unknown): string | null {
  const ofPull = textAt(data, 'pull_request', 'base', 'ref');
  if (ofPull !== null) return ofPull;
  const pulls = at(data, event, 'pull_requests');
  return Array.isArray(pulls) && pulls.length === 1 ? textAt(pulls[0], 'base', 'ref') : null;
}

/** The sender of a finding is whoever pushed, or the CI's app: not the one whose work it would be. */
function askerOf(signal: Signal): Asker | null {
  const { part } = causeOf(signal);
  if (part === 'clock') return null;
  if (part === 'finding') return { kind: 'author' };
  return signal.actor === null ? null : { kind: 'actor', login: signal.actor.name };
}
