/** One run on a page: where it stands, why, what it did outside, and the next thing a person can do. */
import type { RunDetail } from '@headgate/sdk';
import { runRemark, statusWord } from './status.js';
import { pairs, table } from './table.js';
import type { Terminal } from './terminal.js';
import { ago, duration, timeOfDay, usd } from './words.js';

export function runPage(run: RunDetail, terminal: Terminal, now: Date): string {
  const { colors } = terminal;
  const remark = runRemark(run);
  return [
    `${statusWord(run.publicStatus, colors)}  ${colors.bold(run.id)}${remark === '' ? '' : `  ${remark}`}`,
    '',
    pairs(terminal, facts(run, now)),
    ...section('Attempts', attempts(run, terminal), terminal),
    ...section('Operations', operations(run, terminal), terminal),
    ...section('Events', events(run, terminal), terminal),
    '',
    colors.dim(nextStep(run)),
  ].join('\n');
}

function facts(run: RunDetail, now: Date): (readonly [string, string])[] {
  const tookMs = spanMs(run.startedAt, run.finishedAt, now);
  const found: (readonly [string, string])[] = [
    ['route', `${run.route}, agent ${run.agent}, mode ${run.mode}`],
    ['repository', run.repository ?? 'none'],
    ['work', `${run.workKey} at ${run.inputVersion}, generation ${run.generation}`],
    ['status', `${run.status} since ${run.statusAt} (${ago(run.statusAt, now)})`],
    ['created', `${run.createdAt} (${ago(run.createdAt, now)})`],
    ['ran', tookMs === null ? 'not yet' : duration(tookMs)],
    ['branch', run.branch ?? 'none'],
    ['cost', `${usd(run.cost.actualUsd)}${run.cost.maxUsd === null ? '' : ` of ${usd(run.cost.maxUsd)}`}`],
    ['queue', `${run.queue}, policy version ${run.policyVersion}`],
    ['receipt', run.receiptId],
    ['task', run.taskId],
  ];
  if (run.waiting !== null) {
    found.push(['waits since', `${run.waiting.since} (${ago(run.waiting.since, now)})`]);
    found.push(['starts when', run.waiting.wouldStartWhen]);
  }
  for (const { kind, repository, ref, commitSha } of run.approval?.operations ?? []) {
    found.push([`to ${kind}`, `${commitSha.slice(0, 12)} to ${ref} of ${repository}`]);
  }
  return found;
}

function attempts({ attempts: all }: RunDetail, terminal: Terminal): string | null {
  if (all.length === 0) return null;
  return table(
    terminal,
    ['attempt', 'status', 'reason', 'started', 'token', 'worker'],
    all.map((it) => [
      String(it.number),
      it.status,
      it.reasonCode ?? '',
      timeOfDay(it.startedAt),
      it.fencingToken,
      it.workerId,
    ]),
  );
}

function operations({ operations: all }: RunDetail, terminal: Terminal): string | null {
  if (all.length === 0) return null;
  return table(
    terminal,
    ['operation', 'status', 'result'],
    all.map((it) => [it.kind, it.status, it.url ?? it.externalId ?? '']),
  );
}

function events({ events: all }: RunDetail, terminal: Terminal): string | null {
  if (all.length === 0) return null;
  return table(
    terminal,
    ['at', 'event', 'to', 'reason', 'by'],
    all.map((it) => [it.at, it.type, it.to ?? '', it.reasonCode ?? '', it.actor ?? '']),
  );
}

const section = (title: string, body: string | null, { colors }: Terminal): readonly string[] =>
  body === null ? [] : ['', colors.bold(title), body];

/** What whoever asks may do with it now, and where to read more. */
const nextStep = (run: RunDetail): string =>
  [
    ...run.actions.filter((action) => action.allowed).map(({ name }) => `headgate runs ${name} ${run.id}`),
    `headgate why ${run.id}`,
  ].join('   ');

function spanMs(from: string | null, to: string | null, now: Date): number | null {
  return from === null ? null : (to === null ? now.getTime() : Date.parse(to)) - Date.parse(from);
}
