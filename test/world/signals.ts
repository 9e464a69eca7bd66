/** Signals as the sources make them; a test states what matters to it. */
import { randomUUID } from 'node:crypto';
import type { Submission } from '@headgate/admission';
import type { Signal } from '@headgate/domain';

/** A failed check of pull request 7 at the given version. */
export const aSignal = (change: Partial<Signal> = {}): Signal => ({
  source: 'forge',
  eventId: `1/${randomUUID()}`,
  type: 'github.check_run.completed',
  trigger: 'event',
  via: 'webhook',
  hookId: '1',
  subject: 'acme/api#7',
  emittedAt: null,
  receivedAt: new Date(),
  actor: { kind: 'user', id: '5', name: 'ada' },
  repository: { externalId: '42', fullName: 'acme/api', defaultBranch: 'main' },
  target: { kind: 'pull_request', id: '7', ref: 'topic', aspect: 'unit' },
  inputVersion: 'a'.repeat(40),
  sourceAt: null,
  parentVersions: [],
  data: { check_run: { conclusion: 'failure' } },
  traceparent: null,
  ...change,
});

export const submissionOf = (signal: Partial<Signal> = {}, more: Partial<Submission> = {}): Submission => ({
  signal: aSignal(signal),
  tenant: 'default',
  payload: null,
  ...more,
});

/** A whole commit id out of one character. */
export const sha = (character: string): string => character.repeat(40).slice(0, 40);

/** Another piece of work each: its own pull request. */
export const anotherTarget = (n: number): Pick<Signal, 'target'> => ({
  target: { kind: 'pull_request', id: String(1_000 + n), ref: `topic-${n}`, aspect: 'unit' },
});
