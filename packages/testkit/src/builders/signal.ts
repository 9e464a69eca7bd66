import { randomUUID } from 'node:crypto';
import type { Signal } from '@headgate/domain';

/** A failing check on a pull request's head, delivered by GitHub. Each call is a delivery of its own. */
export const aSignal = (change: Partial<Signal> = {}): Signal => ({
  source: 'acme',
  eventId: `1/${randomUUID()}`,
  type: 'github.check_run.completed',
  trigger: 'event',
  via: 'webhook',
  hookId: '1',
  subject: 'unit',
  emittedAt: null,
  receivedAt: new Date(),
  actor: { kind: 'user', id: '7', name: 'mona' },
  repository: { externalId: '42', fullName: 'acme/api', defaultBranch: 'main' },
  target: { kind: 'pull_request', id: '7', ref: 'feature', aspect: 'unit' },
  inputVersion: 'a'.repeat(40),
  sourceAt: null,
  parentVersions: [],
  data: { action: 'completed', check_run: { conclusion: 'failure' } },
  traceparent: null,
  ...change,
});
