import { GITHUB_EVENTS } from '@headgate/domain';

const KNOWN_EVENTS: ReadonlySet<string> = new Set(GITHUB_EVENTS);

/** `github.check_run.completed` is of the event `check_run`; null for a type of another source. */
export function githubEventOf(type: string): string | null {
  const [source, event] = type.split('.');
  return source === 'github' && event !== undefined && event !== '' ? event : null;
}

/** False means: answer with UNKNOWN_EVENT, so that a brand-new event is seen instead of lost (I20). Takes a signal's type. */
export function isKnownGithubEvent(type: string): boolean {
  return KNOWN_EVENTS.has(githubEventOf(type) ?? '');
}

/** A hook's test of its connection: a no-work receipt. */
export const isPing = (type: string): boolean => githubEventOf(type) === 'ping';
