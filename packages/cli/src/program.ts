/** The command line as a whole: which commands there are, how their ends become exit codes. */
import { HeadgateProblem, HeadgateUnreachable } from '@headgate/sdk';
import { Command, CommanderError } from 'commander';
import { addApprovals } from './commands/approvals.js';
import { addBench } from './commands/bench.js';
import { addCheckConfig } from './commands/check-config.js';
import type { CommandContext } from './commands/command.js';
import { addConfig } from './commands/config.js';
import { addDemo } from './commands/demo.js';
import { addDoctor } from './commands/doctor.js';
import { addGoals } from './commands/goals.js';
import { addMigrate } from './commands/migrate.js';
import { addPresets } from './commands/presets.js';
import { addReceipts } from './commands/receipts.js';
import { addRuns } from './commands/runs.js';
import { addSchedules } from './commands/schedules.js';
import { addSend } from './commands/send.js';
import { addServices } from './commands/service.js';
import { addSimulate } from './commands/simulate.js';
import { addStatus } from './commands/status.js';
import { addTrigger } from './commands/trigger.js';
import { addTry } from './commands/try.js';
import { addUp } from './commands/up.js';
import { addWhy } from './commands/why.js';
import { CommandEnd, EXIT, type ExitCode } from './exit.js';
import type { Terminal } from './terminal/terminal.js';
import { VERSION } from './version.js';

/** Their modules are small; what an action needs is loaded when it runs: `status` must not wait for what `up` needs. */
const COMMANDS: readonly ((program: Command, context: CommandContext) => void)[] = [
  addUp,
  addSend,
  addTrigger,
  addTry,
  addRuns,
  addApprovals,
  addReceipts,
  addSchedules,
  addGoals,
  addWhy,
  addStatus,
  addDoctor,
  addCheckConfig,
  addConfig,
  addPresets,
  addSimulate,
  addMigrate,
  addDemo,
  addBench,
  addServices,
];

/** All commands, not yet run: also what docs/cli.md is made from. */
export function programOf(context: CommandContext): Command {
  const program = new Command('headgate')
    .description('The control plane between what wakes coding agents and the agents.')
    .version(VERSION)
    .showHelpAfterError('(--help shows what there is)')
    .option('--json', 'one JSON document on stdout, in the API’s shape')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.terminal.out(text),
      writeErr: (text) => context.terminal.note(text),
    });
  for (const add of COMMANDS) add(program, context);
  return program;
}

/** Runs one command line (without node and the script). Never throws; answers the exit code. */
export async function runCli(
  words: readonly string[],
  given: Omit<CommandContext, 'exit'>,
): Promise<ExitCode | number> {
  let code: number = EXIT.done;
  const context: CommandContext = {
    ...given,
    exit: (wanted) => {
      code = wanted;
    },
  };
  const program = programOf(context);
  try {
    await program.parseAsync([...words], { from: 'user' });
    return code;
  } catch (fault) {
    return explain(fault, given.terminal);
  }
}

function explain(fault: unknown, terminal: Terminal): number {
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (fault instanceof CommandEnd) {
    terminal.note(`${terminal.colors.red('✕')} ${fault.message}`);
    if (fault.advice !== null) terminal.note(fault.advice);
    return fault.exitCode;
  }
  if (fault instanceof HeadgateUnreachable) {
    terminal.note(`${terminal.colors.red('✕')} There is ${fault.message}.`);
    terminal.note('Start one with "headgate up", or set HEADGATE_URL to where it listens.');
    return EXIT.notReached;
  }
  if (fault instanceof HeadgateProblem) return explainProblem(fault, terminal);
  terminal.note(fault instanceof Error ? (fault.stack ?? fault.message) : String(fault));
  return EXIT.negative;
}

function explainProblem({ problem }: HeadgateProblem, { colors, note }: Terminal): number {
  note(`${colors.red('✕')} ${problem.title} ${colors.dim(problem.code)}`);
  // The sentence of a reason code stands in both.
  const more = problem.detail.startsWith(problem.title)
    ? problem.detail.slice(problem.title.length)
    : problem.detail;
  if (more.trim() !== '') note(more.trim());
  if (problem.receiptId !== null) note(`The receipt is ${problem.receiptId}.`);
  switch (problem.status) {
    case 401:
    case 403:
      return EXIT.notAllowed;
    case 404:
      return EXIT.notFound;
    default:
      return EXIT.negative;
  }
}
