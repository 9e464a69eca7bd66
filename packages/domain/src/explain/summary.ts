/** The answer before the evidence: one sentence per run, or why there is none. */
import { formatId } from '../ids.js';
import { isTerminal, publicStatus } from '../lifecycle.js';
import { isReasonCode, messageOf } from '../reasons.js';
import { counted } from '../sentences.js';
import type { Facts, OperationFact, ReceiptFact, RunFact } from './facts.js';

/** Runs that get a sentence of their own. */
const RUNS_IN_WORDS = 3;

export function summaryOf(facts: Facts, waiting: WaitingWords | null): string {
  const decisions = facts.receipts.filter((receipt) => receipt.kind === 'decision');
  const runs = [...facts.runs].sort((a, b) => (a.id < b.id ? -1 : 1));
  if (runs.length === 0) return withoutRun(decisions);
  const newest = runs.slice(-RUNS_IN_WORDS);
  const opening = openingOf(decisions, runs);
  const sentences = newest.map((run) => runWords(run, facts.operations, waiting));
  return [opening, ...sentences].filter((part) => part !== '').join(' ');
}

/** Why a run waits, when one of the runs does. */
export interface WaitingWords {
  readonly runId: RunFact['id'];
  readonly message: string;
  readonly wouldStartWhen: string;
}

function openingOf(decisions: readonly ReceiptFact[], runs: readonly RunFact[]): string {
  const repeats = decisions.filter((receipt) => receipt.existing).length;
  const refused = decisions.filter((receipt) => receipt.outcome === 'reject' && !receipt.existing).length;
  if (decisions.length <= 1 && runs.length === 1) return '';
  const extra = [
    repeats === 0 ? null : `${repeats} met a run that was there before`,
    refused === 0 ? null : `${refused} refused`,
  ].filter((part) => part !== null);
  const tail = extra.length === 0 ? '' : ` (${extra.join(', ')})`;
  return `${counted(decisions.length, 'signal')} led to ${counted(runs.length, 'run')}${tail}.`;
}

/** One sentence on where it stands. */
export function runWords(
  run: RunFact,
  operations: readonly OperationFact[],
  waiting: WaitingWords | null,
): string {
  const name = `${formatId('run', run.id)} (${run.route}, generation ${run.generation}${lineageWords(run)})`;
  const reason = run.reasonCode !== null && isReasonCode(run.reasonCode) ? messageOf(run.reasonCode) : '';
  const why = [reason, run.reasonDetail ?? ''].filter((part) => part !== '').join(' ');
  switch (publicStatus(run.status)) {
    case 'waiting':
      return waiting !== null && waiting.runId === run.id
        ? `${name} waits: ${waiting.message} It starts when: ${waiting.wouldStartWhen}`
        : `${name} waits (${run.status}).`;
    case 'running':
      return `${name} is under way (${run.status}).`;
    case 'succeeded':
      return `${name} succeeded${effectsOf(run, operations)}${
        run.reasonCode === 'NO_CHANGE' ? `: ${messageOf('NO_CHANGE')}` : '.'
      }`;
    case 'failed':
      return `${name} failed with ${run.reasonCode ?? 'no reason'}: ${why}${spent(run)}`;
    case 'cancelled':
      return `${name} was cancelled: ${why}${spent(run)}`;
    case 'skipped':
      return `${name} did nothing (${run.status}, ${run.reasonCode ?? ''}): ${why}${
        run.costUsd === 0 ? ' No model was called.' : spent(run)
      }`;
  }
}

/** Its place in a chain of our own runs, where there is one. */
function lineageWords({ hops, chainRuns, rootReceiptId }: RunFact): string {
  const root = rootReceiptId === null ? '' : ` from ${formatId('rcpt', rootReceiptId)}`;
  const parts = [
    hops === 0 ? null : `${counted(hops, 'hop')}${root}`,
    chainRuns <= 1 ? null : `run ${chainRuns} of its work since a person acted`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? '' : `, ${parts.join(', ')}`;
}

function effectsOf(run: RunFact, operations: readonly OperationFact[]): string {
  const done = operations
    .filter((operation) => operation.runId === run.id && operation.state === 'confirmed')
    .map((operation) => `${operation.kind} ${operation.url ?? operation.externalId ?? ''}`.trim());
  const branch = run.branch === null ? [] : [`branch ${run.branch}`];
  const parts = [...branch, ...done];
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

const spent = (run: RunFact): string =>
  isTerminal(run.status) && run.costUsd > 0 ? ` It cost ${run.costUsd.toFixed(2)} USD.` : '';

/**
 * Asked for one delivery or receipt among others of the same work: what became of that one comes first. Empty where
 * there is nothing beside it, and for every other reference. A delivery of a hook is asked for without the hook's id.
 */
export function verdictOn(ref: string, { receipts }: Facts): string {
  const decisions = receipts.filter((receipt) => receipt.kind === 'decision');
  const asked = decisions.filter(
    ({ id, eventId }) => formatId('rcpt', id) === ref || eventId === ref || eventId.endsWith(`/${ref}`),
  );
  const last = asked.at(-1);
  if (last === undefined || decisions.length === 1) return '';
  const what = asked.length === 1 ? 'It was' : `It was decided ${asked.length} times, last`;
  return `${what} ${OUTCOME_WORDS[last.outcome]} with ${last.reasonCode} by rule ${last.rule}: ${last.message}`;
}

const OUTCOME_WORDS = {
  accept: 'accepted',
  defer: 'put off',
  reject: 'refused',
  'no-work': 'no work',
} as const;

function withoutRun(decisions: readonly ReceiptFact[]): string {
  const last = decisions.at(-1);
  if (last === undefined) return 'Nothing has happened to it yet.';
  const times = decisions.length === 1 ? 'One signal' : `${counted(decisions.length, 'signal')}; the last`;
  return `${times}, no run: ${OUTCOME_WORDS[last.outcome]} with ${last.reasonCode} by rule ${last.rule}. ${last.message}`;
}
