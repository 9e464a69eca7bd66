/** What a person may say of a run that waits for one, and what follows. */
import type { RunActionName } from '@headgate/sdk';

export type Word = Exclude<RunActionName, 'cancel' | 'retry'>;

export interface WordWords {
  readonly button: string;
  readonly question: string;
  readonly effect: string;
  /** It lets something happen: then it is said what exactly. */
  readonly isConsent: boolean;
}

export const WORDS: Readonly<Record<Word, WordWords>> = {
  publish: {
    button: 'Publish',
    question: 'Publish this result?',
    effect:
      'A worker does exactly this, once; no agent runs again. If the branch or the policy has changed since, nothing is pushed.',
    isConsent: true,
  },
  discard: {
    button: 'Discard',
    question: 'Discard this result?',
    effect: 'The run ends cancelled and nothing is pushed. Its sealed result stays readable here.',
    isConsent: false,
  },
  approve: {
    button: 'Approve',
    question: 'Let this work start?',
    effect: 'The run is queued, and its agent starts in its turn.',
    isConsent: true,
  },
  decline: {
    button: 'Decline',
    question: 'Decline this work?',
    effect: 'The run ends as denied by policy. Nothing was done for it.',
    isConsent: false,
  },
};

export const isWord = (name: RunActionName): name is Word => name in WORDS;
