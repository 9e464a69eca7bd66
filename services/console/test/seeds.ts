/** What arrives and happens, by the product's own ways in. */

import type { Submission } from '@headgate/admission';
import { Admission } from '@headgate/admission';
import { type Signal, type SignalAnswer, systemIds } from '@headgate/domain';
import { findSample, readWebhook } from '@headgate/sources';
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

/** A delivery of GitHub as intake admits it, with its bytes: a check that failed. */
export function received(test: TestConsole, guid: string): Promise<SignalAnswer> {
  const found = findSample('check_run.completed#0');
  if (found.kind !== 'sample') throw new Error(found.detail);
  const body = Buffer.from(JSON.stringify(found.sample.payload));
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'check_run',
    'x-github-delivery': guid,
    'x-github-hook-id': '1',
  };
  const request = { sourceId: 'acme', rawBody: body, headers, receivedAt: new Date(), traceparent: null };
  const { signal } = readWebhook(request);
  const payload = { mediaType: 'application/json', body };
  return admissionOf(test).submit({ signal, tenant: 'default', payload });
}

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
