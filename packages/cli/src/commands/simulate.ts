/** `headgate simulate`: what the policy, or another, would have done with the signals of the last days. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { withDatabase } from '../configuration/database.js';
import { filePolicy } from '../configuration/read-file.js';
import { CommandEnd, EXIT, type ExitCode } from '../exit.js';
import { settingsOf } from '../instance/find.js';
import type { ActiveFacts } from '../simulate/active.js';
import type { SimulationReport } from '../simulate/report.js';
import type { CommandContext } from './command.js';
import { durationMs } from './options.js';

interface SimulateOptions {
  readonly from: SimulationReport['from'];
  readonly since: number;
  readonly config?: string;
  readonly json?: boolean;
}

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
const LONGEST_MS = 90 * DAY_MS;

export function addSimulate(program: Command, context: CommandContext): void {
  program
    .command('simulate')
    .description(
      'decide the signals of the last days without running anything: runs, skips, cost, differences',
    )
    .addOption(
      new Option('--from <place>', 'receipts: what was received; forge: what the sources themselves tell')
        .choices(['receipts', 'forge'])
        .default('receipts'),
    )
    .addOption(
      new Option('--since <duration>', 'how far back: 7d, 12h').argParser(spanMs).default(WEEK_MS, '7d'),
    )
    .option('--config <file>', 'compare the active policy with this file')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await run(command.optsWithGlobals<SimulateOptions>(), context)),
    );
}

function spanMs(text: string): number {
  const ms = durationMs(text);
  if (ms > 0 && ms <= LONGEST_MS) return ms;
  throw new InvalidArgumentError('Write a duration from 1m to 90d.');
}

async function run(options: SimulateOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const { reportLines } = await import('../simulate/say.js');
  const report = await (options.from === 'forge' ? fromForge : fromReceipts)(options, context);
  terminal.out(options.json === true ? JSON.stringify(report) : reportLines(report, terminal));
  return EXIT.done;
}

async function fromReceipts(
  { since, config }: SimulateOptions,
  context: CommandContext,
): Promise<SimulationReport> {
  const other = config === undefined ? null : (await filePolicy(config, context)).policy;
  const { simulateRecorded } = await import('../simulate/recorded.js');
  const report = await withDatabase(context, (pool) => simulateRecorded(pool, since, other));
  if (report !== null) return report;
  throw new CommandEnd(
    EXIT.notFound,
    'No policy is active yet.',
    'Activate one: headgate config apply headgate.yaml. Or look at what the sources tell: headgate simulate --from forge',
  );
}

async function fromForge(
  { since, config }: SimulateOptions,
  context: CommandContext,
): Promise<SimulationReport> {
  const { terminal, env } = context;
  const file = config === undefined ? null : await filePolicy(config, context);
  const facts = await activeFacts(context);
  // Nobody has applied anything yet: what stands in the file is what would be applied.
  const other = file ?? (facts === null ? await filePolicy(undefined, context) : null);
  if (facts === null && other !== null) {
    terminal.note(`No policy is active: decided by ${other.path} alone.`);
  }
  const { simulateForge } = await import('../simulate/forge.js');
  const report = await simulateForge({
    sinceMs: since,
    facts,
    activePath: settingsOf(context).configPath,
    other,
    env,
    now: context.now(),
    onLook: (name) => terminal.note(`Looking at ${name} …`),
  });
  endIfBlind(report);
  return report;
}

/** Null: no instance runs here yet, or nothing is active in it. */
async function activeFacts(context: CommandContext): Promise<ActiveFacts | null> {
  const { readActive } = await import('../simulate/active.js');
  try {
    return await withDatabase(context, (pool) => pool.use(readActive));
  } catch (fault) {
    if (fault instanceof CommandEnd && fault.exitCode === EXIT.notReached) return null;
    throw fault;
  }
}

/** Zeros that nobody has counted would be read as an answer. */
function endIfBlind({ looks }: SimulationReport): void {
  if (looks.length === 0) {
    throw new CommandEnd(
      EXIT.usage,
      'There is nothing to look at: no route listens to events of a source of kind github or git.',
      'Give such a source repositories, and a route an event of it under "on".',
    );
  }
  if (looks.some(({ outcome }) => outcome === 'whole' || outcome === 'partial')) return;
  const said = looks.map(({ repository, outcome, detail }) =>
    `${repository}: ${outcome}. ${detail ?? ''}`.trimEnd(),
  );
  const isDenied = looks.every(({ outcome }) => outcome === 'denied');
  throw new CommandEnd(
    isDenied ? EXIT.notAllowed : EXIT.notReached,
    `No repository could be looked at.\n${said.join('\n')}`,
    isDenied
      ? 'Give the source an app or a token that may read them.'
      : 'Try again later; "headgate doctor" looks at the rest.',
  );
}
