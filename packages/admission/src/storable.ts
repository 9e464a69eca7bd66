/** A signal that Postgres refused, without anything that could be at fault: it keeps its identity and says why. */
import type { Verdict } from '@headgate/domain';
import type { Submission } from './submission.js';

const MALFORMED: Verdict = {
  outcome: 'reject',
  reasonCode: 'MALFORMED',
  detail: 'The payload holds data that cannot be stored.',
  retryAfter: null,
};

/** Longest foreign text that is kept: well within what an index row can hold. */
const MAX_TEXT = 1_000;

export function storable(submission: Submission): Submission {
  const { signal } = submission;
  return {
    ...submission,
    payload: null,
    work: null,
    verdict: MALFORMED,
    signal: {
      ...signal,
      eventId: clean(signal.eventId),
      type: clean(signal.type),
      hookId: signal.hookId === null ? null : clean(signal.hookId),
      subject: null,
      actor: null,
      repository: null,
      target: null,
      inputVersion: null,
      emittedAt: null,
      sourceAt: null,
      parentVersions: [],
      data: null,
      traceparent: null,
    },
  };
}

const clean = (text: string): string => text.replaceAll('\u0000', '\ufffd').slice(0, MAX_TEXT);
