/** `headgate bench`: the benchmark of the repository, which brings what Headgate is measured against. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { CommandEnd, EXIT } from '../exit.js';
import type { CommandContext } from './command.js';

interface BenchOptions {
  readonly quick?: boolean;
  readonly only?: string;
  readonly receipts?: string;
  readonly out?: string;
}

export function addBench(program: Command, context: CommandContext): void {
  program
    .command('bench')
    .description('measure this machine: Headgate beside other queues, in a clone of the repository')
    .option('--quick', 'smaller numbers: about four minutes instead of fifteen')
    .option('--only <parts>', 'these parts, with commas between them')
    .option('--receipts <count>', 'how many receipts are searched, up to 10 000 000')
    .option('--out <folder>', 'where performance.json and performance.md go (default: docs/ of the clone)')
    .action(async (options: BenchOptions) => context.exit(await bench(options, context)));
}

async function bench(options: BenchOptions, context: CommandContext): Promise<number> {
  const entry = benchmarkEntry();
  if (entry === null) {
    throw new CommandEnd(
      EXIT.usage,
      'The benchmark is part of the repository, not of the package.',
      'Clone it, then run "npx headgate bench" or "pnpm bench" there.',
    );
  }
  const root = dirname(dirname(dirname(entry)));
  const words = [
    ...(options.quick === true ? ['--quick'] : []),
    ...(['only', 'receipts', 'out'] as const).flatMap((name) =>
      options[name] === undefined ? [] : [`--${name}`, options[name]],
    ),
  ];
  const tsx = createRequire(join(root, 'package.json')).resolve('tsx/cli');
  const child = spawn(process.execPath, [tsx, '--conditions=headgate-source', entry, ...words], {
    cwd: root,
    env: context.env,
    stdio: 'inherit',
  });
  context.onInterrupt(() => child.kill('SIGINT'));
  await once(child, 'exit');
  return child.exitCode ?? EXIT.interrupted;
}

/** Four folders up from here is the clone, whether this is the source or what was built of it. */
function benchmarkEntry(): string | null {
  const entry = fileURLToPath(new URL('../../../../test/bench/main.ts', import.meta.url));
  return existsSync(entry) ? entry : null;
}
