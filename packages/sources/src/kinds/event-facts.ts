/** What an event tells that routes are narrowed by, whichever kind of source it came from. */
import { type EventFacts, NO_FACTS_TOLD, type Signal } from '@headgate/domain';
import { githubFactsOf } from '../github/event-facts.js';
import { githubEventOf } from '../github/events.js';

/**
 * A payload of GitHub is read for all of it. Every other kind has said with its target which branch it is about, and
 * nothing else; of a pull request a route asks for the branch it goes into, which no other kind tells.
 */
export function eventFactsOf(signal: Signal): EventFacts {
  const event = githubEventOf(signal.type);
  if (event !== null) return githubFactsOf(event, signal);
  const { target } = signal;
  return { ...NO_FACTS_TOLD, branch: target?.kind === 'branch' ? target.ref : null };
}
