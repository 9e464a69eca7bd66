/** `headgate runs`: list, show, cancel, retry; publish, discard, approve and decline are in `words.ts`. */
import { type PublicStatus, RUN_STATUSES, type RunStatus } from '@headgate/domain';
import type { BulkRequest, Client, Run, RunQuery } from '@headgate/sdk';
import { type Command, Option } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { clientOf, findInstance } from '../instance/find.js';
import { isOver, waitForRun } from '../instance/wait-for-run.js';
import { oneAnswer } from '../send/say.js';
import { runPage } from '../terminal/run-page.js';
import { PUBLIC_STATUSES, progressLine, runRemark, statusWord } from '../terminal/status.js';
import { remarkTable } from '../terminal/table.js';
import { ago, usd } from '../terminal/words.js';
import type { CommandContext } from './command.js';
import { given, instantBefore, positiveInteger, timeoutOption } from './options.js';
import { endOfRun } from './run-end.js';
import { actOnMany, addBulkOptions, type BulkOptions, isOne } from './runs-bulk.js';
import { addWords } from './words.js';

const MAX_PAGE = 200;
const DEFAULT_PAGE = 20;

interface ListOptions
  extends Pick<RunQuery, 'route' | 'repository' | 'workKey' | 'since' | 'limit' | 'cursor'> {
  readonly status?: PublicStatus;
  readonly state?: RunStatus;
  readonly task?: string;
  readonly json?: boolean;
}

interface ActOptions {
  readonly reason?: string;
  readonly cancelLive?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly json?: boolean;
}

export function addRuns(program: Command, context: CommandContext): void {
  const runs = program
    .command('runs')
    .description('runs: list, show, cancel, retry, publish, discard, approve, decline');
  runs
    .command('list', { isDefault: true })
    .description('the newest runs')
    .addOption(new Option('--status <status>', 'as people say it').choices([...PUBLIC_STATUSES]))
    .addOption(new Option('--state <state>', 'as the lifecycle says it').choices([...RUN_STATUSES]))
    .option('--route <route>')
    .option('--repository <owner/name>')
    .option('--work-key <key>')
    .option('--task <task id>')
    .option('--since <time>', 'a time, or how long ago: 7d', instantBefore(context.now))
    .option('--limit <n>', 'at most so many', positiveInteger(MAX_PAGE), DEFAULT_PAGE)
    .option('--cursor <cursor>', 'where the page before ended')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await list(command.optsWithGlobals<ListOptions>(), context)),
    );
  runs
    .command('show')
    .description('one run: what it does, did, and what a person can do')
    .argument('<run>', 'run_…')
    .option('--json', 'one JSON document')
    .action(async (id: string, _options: unknown, command: Command) =>
      context.exit(await show(id, command.optsWithGlobals().json === true, context)),
    );
  const cancelling = runs
    .command('cancel')
    .description('ask a run to stop, or many; what they hold is given back')
    .argument('[runs...]', 'run_…; or none, and what many are chosen by')
    .option('--reason <text>', 'kept in the record')
    .option('--wait', 'until it has stopped')
    .addOption(timeoutOption())
    .option('--json', 'one JSON document')
    .action(async (ids: readonly string[], _options: unknown, command: Command) =>
      context.exit(await act('cancel', cancel, ids, command, context)),
    );
  addBulkOptions(cancelling, context);
  const retrying = runs
    .command('retry')
    .description('a new run of the same version, of one or of many')
    .argument('[runs...]', 'run_…; or none, and what many are chosen by')
    .option('--cancel-live', 'end a run of the same work that is under way')
    .option('--reason <text>', 'kept in the record')
    .option('--wait', 'follow the new run to its end; exit 1 unless it succeeds')
    .addOption(timeoutOption())
    .option('--json', 'one JSON document')
    .action(async (ids: readonly string[], _options: unknown, command: Command) =>
      context.exit(await act('replay', retry, ids, command, context)),
    );
  addBulkOptions(retrying, context);
  addWords(runs, context);
}

function act(
  action: BulkRequest['action'],
  actOnOne: (id: string, options: ActOptions, context: CommandContext) => Promise<ExitCode>,
  ids: readonly string[],
  command: Command,
  context: CommandContext,
): Promise<ExitCode> {
  const options = command.optsWithGlobals<ActOptions & BulkOptions>();
  const [id] = ids;
  return id !== undefined && isOne(ids, options)
    ? actOnOne(id, options, context)
    : actOnMany(action, ids, options, context);
}

async function list(options: ListOptions, context: CommandContext): Promise<ExitCode> {
  const { status, state, task, json, route, repository, workKey, since, limit, cursor } = options;
  const query: RunQuery = given({
    publicStatus: status,
    status: state,
    taskId: task,
    route,
    repository,
    workKey,
    since,
    limit,
    cursor,
  });
  const page = await clientOf(findInstance(context)).runs.page(query);
  const { terminal } = context;
  if (json === true) terminal.out(JSON.stringify(page));
  else if (page.items.length === 0) {
    terminal.out('No runs. "headgate send check_run.completed" or "headgate trigger tidy" makes one.');
  } else {
    terminal.out(runTable(page.items, context));
    if (page.nextCursor !== null) terminal.note(`More: --cursor ${page.nextCursor}`);
  }
  return EXIT.done;
}

function runTable(runs: readonly Run[], { terminal, now }: CommandContext): string {
  return remarkTable(
    terminal,
    ['status', 'run', 'route', 'repository', 'tries', 'created', 'cost', ''],
    runs.map((run) => [
      statusWord(run.publicStatus, terminal.colors),
      run.id,
      run.route,
      run.repository ?? '',
      String(run.attempt),
      ago(run.createdAt, now()),
      usd(run.cost.actualUsd),
      runRemark(run),
    ]),
  );
}

async function show(id: string, isJson: boolean, context: CommandContext): Promise<ExitCode> {
  const run = await clientOf(findInstance(context)).runs.get(id);
  context.terminal.out(isJson ? JSON.stringify(run) : runPage(run, context.terminal, context.now()));
  return EXIT.done;
}

async function cancel(id: string, options: ActOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const client = clientOf(findInstance(context));
  let run = await client.runs.cancel(id, given({ reason: options.reason }));
  if (options.wait === true && !isOver(run)) run = await follow(client, id, options, context);
  terminal.out(options.json === true ? JSON.stringify(run) : endOfRun(run, terminal));
  return options.wait === true && run.publicStatus !== 'cancelled' ? EXIT.negative : EXIT.done;
}

async function retry(id: string, options: ActOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const client = clientOf(findInstance(context));
  const { cancelLive, reason } = options;
  const answer = await client.runs.retry(id, given({ cancelLive, reason }));
  if (options.json !== true) terminal.out(oneAnswer(answer, terminal));
  if (options.wait !== true || answer.runId === null) {
    if (options.json === true) terminal.out(JSON.stringify(answer));
    return options.wait === true ? EXIT.negative : EXIT.done;
  }
  const run = await follow(client, answer.runId, options, context);
  terminal.out(options.json === true ? JSON.stringify(run) : endOfRun(run, terminal));
  return run.publicStatus === 'succeeded' ? EXIT.done : EXIT.negative;
}

const follow = (client: Client, runId: string, { timeout }: ActOptions, { terminal, now }: CommandContext) =>
  waitForRun({
    client,
    runId,
    timeoutMs: timeout,
    onChange: (run) => terminal.note(progressLine(run, now(), terminal.colors)),
  });
