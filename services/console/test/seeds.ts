/** What arrives and happens, by the product's own ways in. */

import type { Submission } from '@headgate/admission';
import { Admission } from '@headgate/admission';
import { type Signal, type SignalAnswer, systemIds } from '@headgate/domain';
import { aSignal, type RunInStatus, runInStatus, type SeededRun } from '@headgate/testkit';
import type { TestConsole } from './a-console.js';

/** Admits signals as intake does. */
export function admissionOf({ context }: TestConsole): Admission {
  return new Admission({
    pool: context.database.service,
    dimensions: context.dimensions,
    ids: context.ids,
    logger: context.logger,
    policy: () => context.policy.current(),
  });
}

export const deliver = (
  test: TestConsole,
  change: Partial<Signal> = {},
  submission: Partial<Submission> = {},
): Promise<SignalAnswer> =>
  admissionOf(test).submit({ signal: aSignal(change), tenant: 'default', payload: null, ...submission });

/** An admitted run, as the builders know it. */
export async function admitted(test: TestConsole, change: Partial<Signal> = {}): Promise<SeededRun> {
  const signal = aSignal(change);
  const answer = await deliver(test, signal);
  if (answer.runId === null || answer.taskId === null) throw new Error(`not admitted: ${answer.message}`);
  const [row] = await test.store.service.use((c) =>
    c.query<{ key: string }>('select work_key as key from headgate.task where id = $1', [answer.taskId]),
  );
  return {
    runId: answer.runId,
    taskId: answer.taskId,
    receiptId: answer.receiptId,
    tenant: test.tenant,
    workKey: row?.key ?? '',
    inputVersion: signal.inputVersion ?? '',
  };
}

/** A run of the other tenant, that nobody else may learn of. */
export const foreignRun = (test: TestConsole): Promise<RunInStatus> =>
  runInStatus(test.store, 'QUEUED', {
    tenant: test.other,
    workKey: `secret/${systemIds.next('run')}`,
    receipt: { source: 'others-source', repository: 'other/secret', route: 'others-route' },
  });
