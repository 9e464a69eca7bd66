/** `headgate trigger`: a person asks for work. */
import { HEAD_START_SECONDS, type PriorityName } from '@headgate/domain';
import type { Client, WorkRequest } from '@headgate/sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { clientOf, findInstance } from '../instance/find.js';
import { waitForRun } from '../instance/wait-for-run.js';
import { oneAnswer } from '../send/say.js';
import { progressLine } from '../terminal/status.js';
import type { CommandContext } from './command.js';
import { addInput, durationMs, given } from './options.js';
import { endOfRun } from './run-end.js';

interface TriggerOptions {
  readonly repository?: string;
  readonly target?: WorkRequest['target'];
  readonly key?: string;
  readonly inputVersion?: string;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly priority?: PriorityName | number;
  readonly reason?: string;
  readonly idempotencyKey?: string;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly json?: boolean;
}

export const DEFAULT_WAIT_MS = 1_800_000;
const MAX_HEAD_START_SECONDS = 31_536_000;

export function addTrigger(program: Command, context: CommandContext): void {
  program
    .command('trigger')
    .description('ask for a run of a route that lists "manual"')
    .argument('<route>', 'the route of the configuration')
    .option('--repository <owner/name>', 'default: the only one of the route')
    .option('--target <target>', 'pr/7, issue/3 or branch/NAME; default: the repository', target)
    .option('--key <work key>', 'which work is meant; default: from route and target')
    .option('--input-version <version>', 'the version of the input; default: the head of the target')
    .option('--input <name=value>', 'handed to the agent; may be repeated', addInput)
    .option('--priority <priority>', 'urgent, high, normal, low, or seconds of head start', priority)
    .option('--reason <text>', 'kept in the record')
    .option('--idempotency-key <key>', 'the same key and request get the same answer')
    .option('--wait', 'follow the run to its end; exit 1 unless it succeeds')
    .addOption(
      new Option('--timeout <duration>', 'how long --wait waits')
        .argParser(durationMs)
        .default(DEFAULT_WAIT_MS, '30m'),
    )
    .option('--json', 'one JSON document')
    .action(async (route: string, _options: TriggerOptions, command: Command) =>
      context.exit(await trigger(route, command.optsWithGlobals<TriggerOptions>(), context)),
    );
}

async function trigger(route: string, options: TriggerOptions, context: CommandContext): Promise<ExitCode> {
  const client = clientOf(findInstance(context));
  const { repository, target: at, key, inputVersion, input, priority: rank, reason } = options;
  const request: WorkRequest = {
    route,
    ...given({ repository, target: at, workKey: key, inputVersion, inputs: input, priority: rank, reason }),
  };
  return askForWork(client, request, options, context);
}

export interface AskOptions {
  readonly idempotencyKey?: string;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly json?: boolean;
}

/** Sends the request, says the answer, and follows the run if that was asked for. */
export async function askForWork(
  client: Client,
  request: WorkRequest,
  options: AskOptions,
  { terminal, now }: CommandContext,
): Promise<ExitCode> {
  const answer = await client.submitWork(request, given({ idempotencyKey: options.idempotencyKey }));
  if (options.json !== true) terminal.out(oneAnswer(answer, terminal));
  if (options.wait !== true || answer.runId === null) {
    if (options.json === true) terminal.out(JSON.stringify(answer));
    return options.wait === true ? EXIT.negative : EXIT.done;
  }
  const run = await waitForRun({
    client,
    runId: answer.runId,
    timeoutMs: options.timeout,
    onChange: (it) => terminal.note(progressLine(it, now(), terminal.colors)),
  });
  terminal.out(options.json === true ? JSON.stringify(run) : endOfRun(run, terminal));
  return run.publicStatus === 'succeeded' ? EXIT.done : EXIT.negative;
}

const KINDS = { pr: 'pull_request', branch: 'branch', issue: 'issue' } as const;

function target(text: string): NonNullable<WorkRequest['target']> {
  const [, word, id] = /^(pr|branch|issue)\/(.+)$/.exec(text) ?? [];
  if ((word === 'pr' || word === 'branch' || word === 'issue') && id !== undefined) {
    return { kind: KINDS[word], id };
  }
  throw new InvalidArgumentError('Write pr/7, issue/3 or branch/NAME.');
}

function priority(text: string): PriorityName | number {
  if (Object.hasOwn(HEAD_START_SECONDS, text)) return text as PriorityName;
  const seconds = /^-?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (Math.abs(seconds) <= MAX_HEAD_START_SECONDS) return seconds;
  throw new InvalidArgumentError(
    `Write ${Object.keys(HEAD_START_SECONDS).join(', ')}, or seconds of head start.`,
  );
}
