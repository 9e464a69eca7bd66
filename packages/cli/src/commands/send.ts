/** `headgate send`: what GitHub, an event bus or another service would send about the example's repository, signed. */
import type { RunDetail, SignalAnswer } from '@headgate/sdk';
import { type Command, Option } from 'commander';
import { exampleSubject } from '../example.js';
import { CommandEnd, EXIT, type ExitCode } from '../exit.js';
import { clientOf, type FoundInstance, findInstance } from '../instance/find.js';
import { waitForRun } from '../instance/wait-for-run.js';
import { deliver, isSigned } from '../send/deliver.js';
import { answerLines, printRequest } from '../send/say.js';
import { progressLine } from '../terminal/status.js';
import type { CommandContext } from './command.js';
import { durationMs, given, jsonObject, positiveInteger } from './options.js';
import { endOfRun } from './run-end.js';

interface SendOptions {
  readonly count: number;
  readonly delivery?: string;
  readonly branch?: string;
  readonly source?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly fresh?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly print?: boolean;
  readonly json?: boolean;
}

const MAX_COUNT = 1_000;
const DEFAULT_TIMEOUT_MS = 300_000;

export function addSend(program: Command, context: CommandContext): void {
  program
    .command('send')
    .description(
      'post a signed delivery about the example repository: of GitHub, CloudEvents or Standard Webhooks',
    )
    .argument(
      '[sample]',
      'as under "on" of a route: check_run.completed (#n: the n-th example), cloudevents.TYPE (#1: binary), webhook.TYPE',
      'check_run.completed',
    )
    .option('--count <n>', 'send the same delivery this often, at once', positiveInteger(MAX_COUNT), 1)
    .option(
      '--delivery <id>',
      'the id it is known by: X-GitHub-Delivery, the event’s id, webhook-id; default: a new one',
    )
    .option('--branch <name>', 'the branch it is about; default: main')
    .option('--fresh', 'first commit a new change with a defect to the branch, so that there is new work')
    .option('--wait', 'follow the run to its end; exit 1 unless it succeeds')
    .addOption(
      new Option('--timeout <duration>', 'how long --wait waits')
        .argParser(durationMs)
        .default(DEFAULT_TIMEOUT_MS, '5m'),
    )
    .option('--data <json>', 'of a CloudEvent or a message: fields over those of the sample', jsonObject)
    .option(
      '--source <id>',
      'the source that receives it; of a CloudEvent its attribute source; default: the example’s',
    )
    .option('--print', 'show the request and send nothing')
    .option('--json', 'one JSON document')
    .action(async (sample: string, _options: SendOptions, command: Command) =>
      context.exit(await send(sample, command.optsWithGlobals<SendOptions>(), context)),
    );
}

async function send(spec: string, options: SendOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal, now } = context;
  const instance = findInstance(context);
  const [{ readSampleName }, { deliveryOf }] = await Promise.all([
    import('@headgate/sources'),
    import('../send/delivery-of.js'),
  ]);
  const sample = readSampleName(spec);
  if (sample.family === 'unknown') throw new CommandEnd(EXIT.usage, sample.detail);
  const subject = await exampleSubject(instance.settings, {
    isFresh: options.fresh === true && options.print !== true,
    now: now(),
    ...(options.branch === undefined ? {} : { branch: branchName(options.branch) }),
  });
  const { delivery: id, source, data } = options;
  const { deliveryId, delivery } = deliveryOf(sample, {
    subject,
    instance,
    ...given({ delivery: id, source, data }),
  });
  if (options.print === true) {
    printRequest(delivery, instance.url, options.json === true, terminal);
    return EXIT.done;
  }
  const answers = await deliver(instance.url, delivery, options.count);
  const signed = answers.filter(isSigned).map(({ answer }) => answer);
  const refused = answers.find((it) => !isSigned(it));
  if (options.json !== true) {
    terminal.out(answerLines({ sample: sample.name, deliveryId, url: instance.url, answers }, terminal));
  }
  const runId = runIdIn(signed);
  const run =
    options.wait === true && runId !== null
      ? await followRun(runId, options.timeout, instance, context)
      : null;
  const httpStatus = (refused ?? answers[0])?.httpStatus ?? 0;
  if (options.json === true) {
    terminal.out(JSON.stringify({ sample: sample.name, deliveryId, httpStatus, answers: signed, run }));
  }
  if (refused !== undefined) return refused.httpStatus === 401 ? EXIT.notAllowed : EXIT.negative;
  if (options.wait !== true) return EXIT.done;
  if (run === null) {
    terminal.note('There is no run to wait for.');
    return EXIT.negative;
  }
  if (options.json !== true) terminal.out(endOfRun(run, terminal));
  return run.publicStatus === 'succeeded' ? EXIT.done : EXIT.negative;
}

async function followRun(
  runId: string,
  timeoutMs: number,
  instance: FoundInstance,
  { terminal, now }: CommandContext,
): Promise<RunDetail> {
  return waitForRun({
    client: clientOf(instance),
    runId,
    timeoutMs,
    onChange: (run) => terminal.note(progressLine(run, now(), terminal.colors)),
  });
}

/** The run that was made now, else one that was there before. */
function runIdIn(answers: readonly SignalAnswer[]): string | null {
  const named = answers.filter(({ runId }) => runId !== null);
  return (named.find(({ existing }) => !existing) ?? named[0])?.runId ?? null;
}

/** git would take wildcards and leading dashes for something else. */
function branchName(name: string): string {
  const isPlain = /^[A-Za-z0-9_][A-Za-z0-9._/-]*$/.test(name) && !/\.\.|\/\/|\/$|\.lock$/.test(name);
  if (!isPlain) throw new CommandEnd(EXIT.usage, `"${name}" is not a name for a branch of the example.`);
  return name;
}
