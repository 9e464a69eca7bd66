/** `headgate demo break`. */
import type { Command } from 'commander';
import type { BreakResult } from '../demo/break.js';
import type { WorkerProcess } from '../demo/worker-process.js';
import { CommandEnd, EXIT, type ExitCode } from '../exit.js';
import { readConnections } from '../instance/connections.js';
import { clientOf, findInstance } from '../instance/find.js';
import { runningInstance } from '../instance/running.js';
import type { Terminal } from '../terminal/terminal.js';
import { count, duration } from '../terminal/words.js';
import type { CommandContext } from './command.js';

export function addDemo(program: Command, context: CommandContext): void {
  program
    .command('demo')
    .description('see what Headgate does when things break')
    .command('break', { isDefault: true })
    .description(
      '20 duplicates at once, a worker killed at work, Redis emptied: one run, one branch, 20 receipts',
    )
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await demoBreak(command.optsWithGlobals().json === true, context)),
    );
}

async function demoBreak(isJson: boolean, context: CommandContext): Promise<ExitCode> {
  const instance = findInstance(context);
  const { dataDir } = instance.settings;
  const here = await runningInstance(dataDir);
  const connections = readConnections(dataDir);
  if (here === null || connections === null) {
    throw new CommandEnd(
      EXIT.notReached,
      'The demo breaks the instance of this data folder, and none runs here.',
      'Start it with "headgate up" (or npm start) and the example configuration.',
    );
  }
  const { breakEverything } = await import('../demo/break.js');
  const workers = new Set<WorkerProcess>();
  let isInterrupted = false;
  context.onInterrupt(() => {
    isInterrupted = true;
    void Promise.all([...workers].map((worker) => worker.kill())).finally(() =>
      process.exit(EXIT.interrupted),
    );
  });
  const { env, terminal, now } = context;
  try {
    const result = await breakEverything({
      instance: { ...instance, url: here.url },
      client: clientOf({ ...instance, url: here.url }),
      connections,
      env,
      // With --json the page goes to stderr, a line at a time: stdout is the document.
      terminal: isJson ? { ...terminal, out: terminal.note, isLive: false } : terminal,
      now,
      workers,
    });
    terminal.out(isJson ? JSON.stringify(result) : verdict(result, terminal));
    return result.ok ? EXIT.done : EXIT.negative;
  } catch (fault) {
    if (isInterrupted) return new Promise<never>(() => {});
    throw fault;
  } finally {
    await Promise.all([...workers].map((worker) => worker.kill()));
  }
}

function verdict({ ok, found, tookMs, run, deliveries }: BreakResult, { colors }: Terminal): string {
  const numbers = `${count(found.runs, 'run')}, ${branches(found.branches)}, ${count(found.receipts, 'receipt')}`;
  const head = ok
    ? `${colors.green('✓')} ${colors.bold(numbers)}, after ${duration(tookMs)}.`
    : `${colors.red('✕')} ${colors.bold(numbers)}, and it should be 1 run, 1 branch, ${deliveries} receipts.`;
  return [
    head,
    `  Counted by asking the API and git: ${count(found.attempts, 'attempt')}, ${found.pushes} confirmed push, receipts that name ${count(found.namedRuns, 'run')}.`,
    colors.dim(`  headgate why ${run.id}`),
  ].join('\n');
}

const branches = (n: number): string => `${n} branch${n === 1 ? '' : 'es'}`;
