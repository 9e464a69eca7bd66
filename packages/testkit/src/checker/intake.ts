/** INV-IN1 to INV-IN4: what was acknowledged stands, once. */
import { HISTORY_OPS } from '@headgate/telemetry';
import { resultText } from './calls.js';
import { Collector, groupBy } from './collect.js';
import type { Facts } from './facts.js';
import type { Examined } from './model.js';

/** INV-IN1: every acknowledged receipt exists at the end. */
export function acknowledgedReceiptsExist(facts: Facts): Examined {
  const found = new Collector('acknowledged', 'interruptedAnswers');
  const stored = new Set(facts.input.receipts.map((receipt) => receipt.id));
  for (const answer of facts.callsOf(HISTORY_OPS.intakeAnswer)) {
    if (answer.outcome === 'unknown') found.saw('interruptedAnswers');
    const receiptId = resultText(answer, 'receiptId');
    if (answer.outcome !== 'ok' || receiptId === null) continue;
    found.saw('acknowledged');
    if (!stored.has(receiptId)) found.violated('An acknowledged receipt is gone.', answer);
  }
  for (const delivery of facts.input.deliveries) {
    if (!stored.has(delivery.receiptId)) found.violated('A delivery names no stored receipt.', delivery);
  }
  return found.done();
}

const versionOf = (taskId: string | null, generation: unknown, inputVersion: string | null): string | null =>
  taskId === null || inputVersion === null || generation === null || generation === undefined
    ? null
    : JSON.stringify([taskId, String(generation), inputVersion]);

/**
 * Answers that speak of the version's own run. Others (EXISTING_RUN, WORK_IN_PROGRESS) may rightly name the run
 * of an earlier version.
 */
const OWN_RUN_REASONS: readonly (string | null)[] = ['ADMITTED', 'APPROVAL_REQUIRED', 'DUPLICATE_WORK'];

/** INV-IN2: one run per (task, generation, input version); all acknowledgements for it name the same run. */
export function oneRunPerVersion(facts: Facts): Examined {
  const found = new Collector('repeatedAsks');
  const runs = groupBy(facts.input.runs, (run) => versionOf(run.taskId, run.generation, run.inputVersion));
  for (const [version, list] of runs) {
    if (list.length > 1) found.violated('One version of a task has more than one run.', version, ...list);
  }
  for (const version of facts.input.taskVersions) {
    const key = versionOf(version.taskId, version.generation, version.inputVersion);
    const run = key === null ? undefined : runs.get(key)?.[0];
    if (run !== undefined && run.id !== version.runId) {
      found.violated('A version names another run than the one that was made for it.', version, run);
    }
  }
  const answers = facts
    .callsOf(HISTORY_OPS.intakeAnswer)
    .filter((call) => call.outcome === 'ok' && OWN_RUN_REASONS.includes(resultText(call, 'reasonCode')))
    .map((call) => ({
      source: call as unknown,
      runId: resultText(call, 'runId'),
      version: versionOf(
        resultText(call, 'taskId'),
        call.result['generation'],
        resultText(call, 'inputVersion'),
      ),
    }));
  const receipts = facts.input.receipts
    .filter((receipt) => receipt.kind === 'decision' && OWN_RUN_REASONS.includes(receipt.reasonCode))
    .map((receipt) => ({
      source: receipt as unknown,
      runId: receipt.runId,
      version: versionOf(receipt.taskId, receipt.generation, receipt.inputVersion),
    }));
  for (const told of [answers, receipts]) {
    const naming = told.filter((one) => one.runId !== null);
    for (const [version, list] of groupBy(naming, (one) => one.version)) {
      if (list.length > 1) found.saw('repeatedAsks');
      if (new Set(list.map((one) => one.runId)).size > 1) {
        found.violated(
          'Answers for one version name different runs.',
          version,
          ...list.map((one) => one.source),
        );
      }
      for (const one of list) {
        const made = runs.get(version)?.[0];
        if (made === undefined || made.id !== one.runId) {
          found.violated('An answer names a run that was not made for its version.', one.source, made);
        }
      }
    }
  }
  return found.done();
}

/** INV-IN3: the same idempotency key with another body is refused. */
export function idempotencyKeysBind(facts: Facts): Examined {
  const found = new Collector('refusedReuse');
  const answers = facts.callsOf(HISTORY_OPS.intakeAnswer);
  found.saw(
    'refusedReuse',
    answers.filter((call) => call.outcome === 'fail' && call.result['refusal'] === 'IDEMPOTENCY_KEY_REUSED')
      .length,
  );
  const byKey = groupBy(answers, (call) => {
    const key = resultText(call, 'idempotencyKey');
    return call.outcome === 'ok' && key !== null ? JSON.stringify([call.tenant, key]) : null;
  });
  for (const [key, calls] of byKey) {
    const bodies = new Set(calls.map((call) => resultText(call, 'bodyDigest')));
    if (bodies.size > 1) found.violated('One idempotency key was accepted with two bodies.', key, ...calls);
    const receipts = new Set(calls.map((call) => resultText(call, 'receiptId')));
    if (receipts.size > 1) found.violated('One idempotency key gave two receipts.', key, ...calls);
  }
  return found.done();
}

/** INV-IN4: every run descends from one receipt. */
export function runsDescendFromReceipts(facts: Facts): Examined {
  const found = new Collector('runs');
  const receipts = new Map(facts.input.receipts.map((receipt) => [receipt.id, receipt]));
  for (const run of facts.input.runs) {
    found.saw('runs');
    const receipt = receipts.get(run.receiptId);
    if (receipt === undefined) found.violated('A run has no receipt.', run);
    else if (receipt.outcome !== 'accept') found.violated('A run descends from a refusal.', run, receipt);
    else if (receipt.runId !== run.id) found.violated('A receipt does not name its run.', run, receipt);
  }
  for (const [receiptId, runs] of groupBy(facts.input.runs, (run) => run.receiptId)) {
    if (runs.length > 1) found.violated('One receipt made two runs.', receiptId, ...runs);
  }
  for (const receipt of receipts.values()) {
    const seen = new Set<string>([receipt.id]);
    let parent = receipt.parentReceiptId;
    while (parent !== null) {
      const above = receipts.get(parent);
      if (above === undefined || seen.has(parent)) {
        found.violated('A receipt’s ancestry leads nowhere.', receipt, { parent });
        break;
      }
      seen.add(parent);
      parent = above.parentReceiptId;
    }
  }
  return found.done();
}
