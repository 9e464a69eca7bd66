/** *Why*, answered: the first reading that finds something is told; what it may mean besides is offered. */
import {
  type Explained,
  explain,
  explainNothing,
  formatIdOrNull,
  type Reading,
  type ReasonCode,
  type RunFact,
  readReference,
} from '@headgate/domain';
import type { Explanation, Waiting } from '@headgate/sdk';
import type { ServiceContext } from '@headgate/service';
import { type Connection, databaseNow } from '@headgate/store';
import type { Caller } from '../auth/index.js';
import { find, instantOf, loadFacts, sourceSights, type WaitingReader } from '../queries/index.js';
import { findTimer, type TimerReading } from './timers.js';

export async function explanationOf(
  context: ServiceContext,
  caller: Caller,
  c: Connection,
  waitingOf: WaitingReader,
  ref: string,
): Promise<Explanation> {
  for (const reading of readReference(ref)) {
    const timer = isTimer(reading) ? await findTimer(c, reading) : null;
    const found = isTimer(reading) ? (timer?.found ?? null) : await find(c, reading);
    if (found === null) continue;
    const { facts, isCut } = await loadFacts(c, found);
    const reasons = await waitingOf(
      c,
      facts.runs.map((run) => ({ ...run, reasonCode: run.reasonCode as ReasonCode | null })),
    );
    const run = newestWaiting(facts.runs, reasons);
    const waiting = run === null ? null : (reasons.get(run.id) ?? null);
    const words =
      run === null || waiting === null
        ? null
        : { runId: run.id, message: waiting.message, wouldStartWhen: waiting.wouldStartWhen };
    const explained =
      timer === null
        ? explain({ ref, kind: kindOf(reading, ref), facts, waiting: words, isCut })
        : timer.explain(facts, words, await databaseNow(c));
    return answerOf(ref, explained, waiting);
  }
  const sources = await sourceSights(c, configuredSources(context, caller));
  return answerOf(ref, explainNothing(ref, sources, await databaseNow(c)), null);
}

const isTimer = (reading: Reading): reading is TimerReading =>
  reading.kind === 'schedule' || reading.kind === 'goal';

function newestWaiting(
  runs: readonly RunFact[],
  reasons: ReadonlyMap<RunFact['id'], Waiting>,
): RunFact | null {
  const waiting = runs.filter((run) => reasons.has(run.id)).sort((a, b) => (a.id < b.id ? 1 : -1));
  return waiting[0] ?? null;
}

function kindOf(reading: Reading, ref: string): Exclude<Explanation['kind'], 'none'> {
  switch (reading.kind) {
    case 'target':
    case 'repository':
      return 'url';
    case 'sha':
      return /^https?:/i.test(ref) ? 'url' : 'sha';
    default:
      return reading.kind;
  }
}

/** A token of one tenant learns nothing of another's sources. */
function configuredSources(context: ServiceContext, caller: Caller): readonly string[] {
  const active = context.policy.currentOrNull();
  if (active === null) return [];
  return active.policy.sources
    .filter((source) => {
      const id = active.tenantIds.get(source.tenant);
      return id !== undefined && caller.tenants.includes(id);
    })
    .map((source) => source.id);
}

const answerOf = (ref: string, explained: Explained, waiting: Waiting | null): Explanation => ({
  ref,
  kind: explained.kind,
  summary: explained.summary,
  steps: explained.steps.map((step) => ({
    at: instantOf(step.at),
    type: step.type,
    outcome: step.outcome,
    reasonCode: step.reasonCode as ReasonCode | null,
    message: step.message,
    rule: step.rule,
    actor: step.actor,
    receiptId: formatIdOrNull('rcpt', step.receiptId),
    runId: formatIdOrNull('run', step.runId),
    count: step.count,
    lastAt: instantOf(step.lastAt),
  })),
  waiting,
  candidates: explained.candidates.map((candidate) => ({ ...candidate })),
});
