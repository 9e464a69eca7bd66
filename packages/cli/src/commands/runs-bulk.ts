/** `headgate runs cancel|retry` of many: first shown, then done to exactly what was shown (`POST /v1/runs:bulk`). */
import { type PublicStatus, RUN_STATUSES, type RunStatus } from '@headgate/domain';
import type { BulkAnswer, BulkFilter, BulkRequest } from '@headgate/sdk';
import { type Command, Option } from 'commander';
import { CommandEnd, EXIT, type ExitCode } from '../exit.js';
import { clientOf, findInstance } from '../instance/find.js';
import { PUBLIC_STATUSES } from '../terminal/status.js';
import { remarkTable } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { count } from '../terminal/words.js';
import type { CommandContext } from './command.js';
import { given, instantBefore } from './options.js';

export interface BulkOptions
  extends Pick<BulkFilter, 'route' | 'repository' | 'tenant' | 'workKey' | 'since' | 'until'> {
  readonly status?: PublicStatus;
  readonly state?: RunStatus;
  readonly task?: string;
  readonly dryRun?: boolean;
  readonly token?: string;
  readonly reason?: string;
  readonly json?: boolean;
  /** Of one run only. */
  readonly wait?: boolean;
  readonly cancelLive?: boolean;
}

type Action = BulkRequest['action'];

/** What many runs are chosen by, and how it is first looked at. */
export function addBulkOptions(command: Command, { now }: CommandContext): Command {
  return command
    .addOption(new Option('--status <status>', 'of many: as people say it').choices([...PUBLIC_STATUSES]))
    .addOption(new Option('--state <state>', 'of many: as the lifecycle says it').choices([...RUN_STATUSES]))
    .option('--route <route>', 'of many')
    .option('--repository <owner/name>', 'of many')
    .option('--tenant <tenant>', 'of many')
    .option('--work-key <key>', 'of many')
    .option('--task <task id>', 'of many')
    .option('--since <time>', 'of many: made after a time, or how long ago: 7d', instantBefore(now))
    .option('--until <time>', 'of many: made before a time, or how long ago: 2h', instantBefore(now))
    .option('--dry-run', 'of many: only say which, and give the token to do it')
    .option('--token <token>', 'of many: that of the dry run; done to exactly those');
}

export function filterOf(ids: readonly string[], options: BulkOptions): BulkFilter {
  const { status, state, task, route, repository, tenant, workKey, since, until } = options;
  return given({
    ids: ids.length === 0 ? undefined : ids.join(','),
    publicStatus: status,
    status: state,
    taskId: task,
    ...{ route, repository, tenant, workKey, since, until },
  });
}

/** One run by its id, without anything that is only for many, is acted on as it is. */
export const isOne = (ids: readonly string[], options: BulkOptions): boolean =>
  ids.length === 1 &&
  Object.keys(filterOf(ids, options)).length === 1 &&
  options.dryRun !== true &&
  options.token === undefined;

export async function actOnMany(
  action: Action,
  ids: readonly string[],
  options: BulkOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const filter = filterOf(ids, options);
  endIfUnclear(action, filter, options);
  const { terminal } = context;
  const { dryRun = false, token, reason, json } = options;
  const request: BulkRequest = { action, filter, dryRun, ...given({ token, reason }) };
  const answer = await clientOf(findInstance(context)).runs.bulk(request);
  if (json === true) terminal.out(JSON.stringify(answer));
  else terminal.out(answerLines(answer, request, terminal));
  if (answer.dryRun) return EXIT.done;
  return answer.count === answer.runs.length ? EXIT.done : EXIT.negative;
}

function endIfUnclear(action: Action, filter: BulkFilter, options: BulkOptions): void {
  const word = WORDS[action].command;
  if (Object.keys(filter).length === 0) {
    throw new CommandEnd(
      EXIT.usage,
      `Which runs to ${word} is not said.`,
      `Name one, run_…, or choose many: headgate runs ${word} --route tidy --status waiting --dry-run`,
    );
  }
  if (options.wait === true || options.cancelLive === true) {
    throw new CommandEnd(EXIT.usage, '--wait and --cancel-live are for one run, named by its id.');
  }
  if (options.dryRun !== true && options.token === undefined) {
    throw new CommandEnd(
      EXIT.usage,
      `Many runs are looked at before they are ${WORDS[action].done}.`,
      'Write --dry-run first; it gives the --token to do it.',
    );
  }
  if (options.dryRun === true && options.token !== undefined) {
    throw new CommandEnd(EXIT.usage, 'Write --dry-run to look, or --token to do it; not both.');
  }
}

const WORDS: Readonly<Record<Action, { readonly command: string; readonly done: string }>> = {
  cancel: { command: 'cancel', done: 'cancelled' },
  replay: { command: 'retry', done: 'retried' },
};

function answerLines(answer: BulkAnswer, request: BulkRequest, terminal: Terminal): string {
  const { colors } = terminal;
  const { done } = WORDS[answer.action];
  const lines = answer.runs.length === 0 ? [] : [runTable(answer, terminal), ''];
  if (!answer.dryRun) {
    const left = answer.runs.length - answer.count;
    const rest =
      left === 0 ? '' : ` ${count(left, 'run')} left alone: see why beside ${left === 1 ? 'it' : 'each'}.`;
    const asked = answer.runs.filter(({ outcome }) => outcome === 'requested').length;
    const stopping = asked === 0 ? '' : ` ${count(asked, 'run')} asked to stop.`;
    return [...lines, `${count(answer.count - asked, 'run')} ${done}.${stopping}${rest}`].join('\n');
  }
  if (answer.count === 0) return `No run matches that can be ${done}.`;
  return [
    ...lines,
    `${count(answer.count, 'run')} would be ${done}. Nothing was done.`,
    ...(answer.more ? [colors.yellow('More match: at most 200 are done at a time, the newest first.')] : []),
    'To do it, to exactly these:',
    `  ${commandLine(answer, request)}`,
  ].join('\n');
}

function runTable({ runs }: BulkAnswer, terminal: Terminal): string {
  return remarkTable(
    terminal,
    ['', 'run', 'status', 'new run', ''],
    runs.map(({ runId, status, outcome, newRunId, code, detail }) => [
      outcome,
      runId,
      status ?? '',
      newRunId ?? '',
      [code, detail].filter((part) => part !== null).join(': '),
    ]),
  );
}

/** As it was chosen, with the times that "7d" stood for: the token holds for no other choice. */
function commandLine({ action, token }: BulkAnswer, { filter, reason }: BulkRequest): string {
  const { ids, publicStatus, status, taskId, workKey, ...rest } = filter;
  const options = { status: publicStatus, state: status, task: taskId, 'work-key': workKey, ...rest, reason };
  return [
    `headgate runs ${WORDS[action].command}`,
    ...(ids === undefined ? [] : [ids.split(',').join(' ')]),
    ...Object.entries(options).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name} ${shellWord(String(value))}`],
    ),
    `--token ${token ?? ''}`,
  ].join(' ');
}

const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
