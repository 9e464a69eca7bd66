/** `headgate status`: what is wrong, since when, and the first thing to do. */
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { clientOf, findInstance } from '../instance/find.js';
import { type Health, readHealth } from '../status/health.js';
import { type Trouble, troublesIn } from '../status/troubles.js';
import { pairs } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { ago, count } from '../terminal/words.js';
import type { CommandContext } from './command.js';

export function addStatus(program: Command, context: CommandContext): void {
  program
    .command('status')
    .description('what is wrong, since when, and the first thing to do; exit 1 if it is more than a warning')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await status(command.optsWithGlobals().json === true, context)),
    );
}

async function status(isJson: boolean, context: CommandContext): Promise<ExitCode> {
  const { terminal, now } = context;
  const instance = findInstance(context);
  const health = await readHealth(instance.url, clientOf(instance));
  const troubles = troublesIn(health, now());
  if (isJson)
    terminal.out(JSON.stringify({ url: instance.url, ok: troubles.length === 0, troubles, ...health }));
  else terminal.out(statusPage(instance.url, health, troubles, terminal, now()));
  return troubles.some(({ severity }) => severity === 'error') ? EXIT.negative : EXIT.done;
}

export function statusPage(
  url: string,
  health: Health,
  troubles: readonly Trouble[],
  terminal: Terminal,
  now: Date,
): string {
  const { colors } = terminal;
  const worst = troubles.some(({ severity }) => severity === 'error') ? colors.red('✕') : colors.yellow('!');
  const head =
    troubles.length === 0
      ? `${colors.green('✓')} ${url} works as it should.`
      : `${worst} ${url}: ${count(troubles.length, 'thing')} to look at.`;
  const said = troubles.flatMap(({ message, since, advice, severity }) => [
    '',
    `${severity === 'error' ? colors.red('✕') : colors.yellow('!')} ${message}${since === null ? '' : `, since ${since} (${ago(since, now)})`}`,
    `  First: ${advice}`,
  ]);
  return [head, ...said, '', pairs(terminal, numbers(health, now))].join('\n');
}

function numbers(
  { checks, queues, workers, deadLetters }: Health,
  now: Date,
): readonly (readonly [string, string])[] {
  const sum = (of: 'ready' | 'delayed' | 'running'): number =>
    queues.reduce((total, it) => total + it[of], 0);
  const live = workers.filter(({ isLive }) => isLive);
  const oldest = queues
    .map(({ oldestReadyAt }) => oldestReadyAt)
    .filter((at) => at !== null)
    .sort()[0];
  return [
    ['running', String(sum('running'))],
    [
      'ready',
      `${sum('ready')}${oldest === undefined ? '' : `, the oldest since ${ago(oldest, now).replace(' ago', '')}`}`,
    ],
    ['later', `${sum('delayed')} (in back-off, or deferred)`],
    ['workers', `${live.length} live, ${live.reduce((total, it) => total + it.slots, 0)} slots`],
    ['dead letters', String(deadLetters)],
    ['postgres', checks.postgres],
    ['redis', checks.redis],
  ];
}
