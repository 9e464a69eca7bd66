/** `headgate simulate`: what the policy, or another, would have done with the signals of the last days. */
import { type Command, Option } from 'commander';
import { withDatabase } from '../configuration/database.js';
import { filePolicy } from '../configuration/read-file.js';
import { CommandEnd, EXIT, type ExitCode } from '../exit.js';
import type { CommandContext } from './command.js';
import { durationMs } from './options.js';

interface SimulateOptions {
  readonly since: number;
  readonly config?: string;
  readonly json?: boolean;
}

const WEEK_MS = 7 * 86_400_000;

export function addSimulate(program: Command, context: CommandContext): void {
  program
    .command('simulate')
    .description(
      'decide the recorded signals again, without running anything: runs, skips, cost, differences',
    )
    .addOption(
      new Option('--since <duration>', 'how far back: 7d, 12h').argParser(durationMs).default(WEEK_MS, '7d'),
    )
    .option('--config <file>', 'compare the active policy with this file')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await run(command.optsWithGlobals<SimulateOptions>(), context)),
    );
}

async function run({ since, config, json }: SimulateOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const other = config === undefined ? null : (await filePolicy(config, context)).policy;
  const [{ simulateRecorded }, { reportLines }] = await Promise.all([
    import('../simulate/run.js'),
    import('../simulate/say.js'),
  ]);
  const report = await withDatabase(context, (pool) => simulateRecorded(pool, since, other));
  if (report === null) {
    throw new CommandEnd(
      EXIT.notFound,
      'No policy is active yet.',
      'Activate one: headgate config apply headgate.yaml',
    );
  }
  terminal.out(json === true ? JSON.stringify(report) : reportLines(report, terminal));
  return EXIT.done;
}
