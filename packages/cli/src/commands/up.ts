import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { Interrupted, Lifetime } from '../up/lifetime.js';
import type { CommandContext } from './command.js';

export function addUp(program: Command, context: CommandContext): void {
  program
    .command('up')
    .description('run everything in one process: a private Postgres and Redis, all services, one port')
    .action(async () => context.exit(await runUp(context)));
}

async function runUp({ env, cwd, terminal, onInterrupt }: CommandContext): Promise<ExitCode> {
  const life = new Lifetime();
  onInterrupt(() => {
    if (!life.signal.aborted) terminal.note('\nEnding: runs under way are finished or handed back …');
    life.interrupt();
  });
  try {
    const { up } = await import('../up/up.js');
    return await up({ env, cwd, terminal, life });
  } catch (fault) {
    if (fault instanceof Interrupted || life.signal.aborted) return EXIT.interrupted;
    throw fault;
  } finally {
    await life.end((name, fault) =>
      terminal.note(`${name} did not end well: ${fault instanceof Error ? fault.message : String(fault)}`),
    );
  }
}
