/** INV-HI1 to INV-HI3: Redis changes latency, never results; every event is delivered. */
import { HISTORY_OPS } from '@headgate/telemetry';
import { resultText } from './calls.js';
import { Collector, groupBy, pairs } from './collect.js';
import type { Facts } from './facts.js';
import type { Baseline, Examined, RunRow } from './model.js';

/** What names the same work in two runs of one workload, whose ids differ. */
export const workId = (run: RunRow): string => `${run.workKey}@${run.inputVersion}#${run.generation}`;

const startDelayMs = (run: RunRow): number | null =>
  run.startedAtMs === null ? null : run.startedAtMs - run.createdAtMs;

/** What a run without faults leaves for `input.baseline`. */
export function baselineOf(runs: readonly RunRow[]): Baseline {
  const statuses = Object.fromEntries(runs.map((run) => [workId(run), run.status]));
  const delays = runs.map((run) => [workId(run), startDelayMs(run)] as const);
  const known = delays.filter((entry): entry is readonly [string, number] => entry[1] !== null);
  return { statuses, startDelayMs: Object.fromEntries(known) };
}

/** INV-HI1: with Redis emptied the final states are the same; latency grows by at most the poll interval. */
export function redisChangesOnlyLatency(facts: Facts): Examined {
  const found = new Collector('redisFlushes', 'comparedRuns');
  found.saw('redisFlushes', facts.callsOf(HISTORY_OPS.redisFlushed).length);
  const { baseline } = facts.input;
  if (baseline === null) return found.done();
  const allowedMs = facts.settings.pollIntervalMs + facts.settings.slackMs;
  const present = new Set<string>();
  for (const run of facts.input.runs) {
    const id = workId(run);
    present.add(id);
    const expected = baseline.statuses[id];
    if (expected === undefined) {
      found.violated('Work was done that the run without faults did not do.', run);
      continue;
    }
    found.saw('comparedRuns');
    if (run.status !== expected)
      found.violated('A run ended otherwise than without faults.', run, { expected });
    const before = baseline.startDelayMs[id];
    const now = startDelayMs(run);
    if (before !== undefined && now !== null && now - before > allowedMs) {
      found.violated('A run waited longer than the poll interval explains.', run, { before, now, allowedMs });
    }
  }
  for (const id of Object.keys(baseline.statuses)) {
    if (!present.has(id)) found.violated('Work is missing that the run without faults did.', id);
  }
  return found.done();
}

/** INV-HI2: a hint never causes work that Postgres does not show. */
export function workStandsInPostgres(facts: Facts): Examined {
  const found = new Collector('uselessHints');
  const hints = groupBy(facts.callsOf(HISTORY_OPS.hintReceive), (hint) => hint.run);
  for (const [run, list] of hints) {
    const attempts = facts.attemptsByRun.get(run)?.length ?? 0;
    if (list.length > attempts) found.saw('uselessHints', list.length - attempts);
  }
  for (const start of facts.callsOf(HISTORY_OPS.workStart)) {
    const lease = start.leaseId === null ? undefined : facts.leaseById.get(start.leaseId);
    if (lease === undefined || lease.runId !== start.run) {
      found.violated('Work started that no attempt stands for.', start);
    }
  }
  return found.done();
}

/** INV-HI3: every committed event reaches each subscriber at least once. */
export function everyEventArrives(facts: Facts): Examined {
  const found = new Collector('subscribers', 'lateCommits');
  const order = facts.input.runEvents;
  // Ids are drawn before the commit: an id smaller than one that came earlier is what an id cursor loses.
  for (const [before, after] of pairs(order)) if (after.id < before.id) found.saw('lateCommits');
  const deliveries = groupBy(facts.callsOf(HISTORY_OPS.eventDeliver), (call) =>
    call.outcome === 'ok' ? call.key : null,
  );
  for (const [subscriber, calls] of deliveries) {
    found.saw('subscribers');
    const taken = new Set(calls.map((call) => resultText(call, 'eventId')));
    for (const event of order) {
      if (!taken.has(event.id)) found.violated('An event never reached a subscriber.', subscriber, event);
    }
  }
  return found.done();
}
