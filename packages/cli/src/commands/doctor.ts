/** `headgate doctor`: what hurts later, each with the one thing that mends it. */
import type { Command } from 'commander';
import type { Check } from '../doctor/check.js';
import { EXIT, type ExitCode } from '../exit.js';
import { readConnections } from '../instance/connections.js';
import { settingsOf } from '../instance/find.js';
import { runningInstance } from '../instance/running.js';
import { table } from '../terminal/table.js';
import type { Colors, Terminal } from '../terminal/terminal.js';
import type { CommandContext } from './command.js';

export function addDoctor(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('look at everything that hurts later; exit 1 if something has failed')
    .option('--env', 'only list the environment variables that Headgate reads')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) => {
      const { env, json } = command.optsWithGlobals<{ env?: boolean; json?: boolean }>();
      context.exit(await (env === true ? listEnvironment : doctor)(json === true, context));
    });
}

async function doctor(isJson: boolean, context: CommandContext): Promise<ExitCode> {
  const settings = settingsOf(context);
  const [{ checkMachine }, { checkDatabase }, { checkRedisServer }, { createLogger }] = await Promise.all([
    import('../doctor/machine.js'),
    import('../doctor/database.js'),
    import('../doctor/redis.js'),
    import('@headgate/telemetry'),
  ]);
  const logger = createLogger('doctor', { level: 'silent' });
  const isRunning = (await runningInstance(settings.dataDir)) !== null;
  const running = isRunning ? readConnections(settings.dataDir) : null;
  const checks = [
    ...(await checkMachine(settings)),
    ...(await checkDatabase(settings, running, logger)),
    ...(await checkRedisServer(settings, running, logger)),
  ];
  const environment = await environmentOf(context.env);
  const { terminal } = context;
  if (isJson) terminal.out(JSON.stringify({ checks, environment }));
  else
    terminal.out(
      [checkLines(checks, terminal.colors), '', environmentTable(environment, terminal)].join('\n'),
    );
  return checks.some(({ state }) => state === 'failed') ? EXIT.negative : EXIT.done;
}

export function checkLines(checks: readonly Check[], colors: Colors): string {
  const marks = {
    ok: colors.green('✓'),
    warning: colors.yellow('!'),
    failed: colors.red('✕'),
    skipped: colors.dim('–'),
  };
  return checks
    .map(({ state, message, fix }) => {
      const line = `${marks[state]} ${state === 'skipped' ? colors.dim(message) : message}`;
      return fix === null ? line : `${line}\n    ${fix}`;
    })
    .join('\n');
}

interface EnvironmentLine {
  readonly name: string;
  /** Null: not set. Of a secret only that it is set. */
  readonly value: string | null;
  readonly defaultValue: string | null;
  readonly description: string;
}

async function listEnvironment(isJson: boolean, { env, terminal }: CommandContext): Promise<ExitCode> {
  const environment = await environmentOf(env);
  terminal.out(isJson ? JSON.stringify({ environment }) : environmentTable(environment, terminal));
  return EXIT.done;
}

async function environmentOf(env: NodeJS.ProcessEnv): Promise<readonly EnvironmentLine[]> {
  const { ENVIRONMENT } = await import('@headgate/config');
  return ENVIRONMENT.map(({ name, defaultValue, description, isSecret }) => {
    const value = env[name] || null;
    return { name, value: value !== null && isSecret ? '(set)' : value, defaultValue, description };
  });
}

const environmentTable = (lines: readonly EnvironmentLine[], terminal: Terminal): string =>
  table(
    terminal,
    ['variable', 'value', 'default', ''],
    lines.map(({ name, value, defaultValue, description }) => [
      name,
      value === null ? terminal.colors.dim('not set') : value,
      defaultValue ?? '',
      description,
    ]),
  );
