/**
 * `headgate config`: the configuration as Headgate understands it, and the policy that is in force. The active policy
 * lives in Postgres, so that all services agree; a file counts by itself only in `headgate up`.
 */
import { userInfo } from 'node:os';
import type { Policy } from '@headgate/domain';
import type { ActivateOptions, Pool } from '@headgate/store';
import type { Command } from 'commander';
import { type ActivationTold, appliedWords, rolledBackWords } from '../configuration/activation-words.js';
import { changeLines } from '../configuration/change-lines.js';
import { withDatabase } from '../configuration/database.js';
import { filePolicy } from '../configuration/read-file.js';
import { CommandEnd, EXIT, type ExitCode } from '../exit.js';
import { settingsOf } from '../instance/find.js';
import { runningInstance } from '../instance/running.js';
import { shortPath } from '../terminal/problems.js';
import { table } from '../terminal/table.js';
import { ago } from '../terminal/words.js';
import type { CommandContext } from './command.js';
import { positiveInteger } from './options.js';

interface ConfigOptions {
  readonly active?: boolean;
  readonly reason?: string;
  readonly over?: number;
  readonly limit?: number;
  readonly repository?: boolean;
  readonly json?: boolean;
}

const FILE = ['[file]', 'default: HEADGATE_CONFIG, else headgate.yaml'] as const;
const MAX_VERSION = 999_999_999;
const MAX_HISTORY = 1_000;

export function addConfig(program: Command, context: CommandContext): void {
  const config = program.command('config').description('the configuration as Headgate understands it');
  const optionsOf = (command: Command): ConfigOptions => command.optsWithGlobals<ConfigOptions>();
  config
    .command('show', { isDefault: true })
    .description('every default spelled out; secrets stay references')
    .argument(...FILE)
    .option('--active', 'the policy that is in force, instead of a file')
    .option('--json', 'one JSON document')
    .action(async (file: string | undefined, _options: unknown, command: Command) =>
      context.exit(await show(file, optionsOf(command), context)),
    );
  config
    .command('diff')
    .description('what would be different if the file were the active policy')
    .argument(...FILE)
    .option('--json', 'one JSON document')
    .action(async (file: string | undefined, _options: unknown, command: Command) =>
      context.exit(await diff(file, optionsOf(command), context)),
    );
  config
    .command('apply')
    .description('make the file the active policy; every service follows within seconds')
    .argument(...FILE)
    .option('--reason <text>', 'kept in the history')
    .option('--over <version>', 'only if this version is the active one', positiveInteger(MAX_VERSION))
    .option('--json', 'one JSON document')
    .action(async (file: string | undefined, _options: unknown, command: Command) =>
      context.exit(await apply(file, optionsOf(command), context)),
    );
  config
    .command('rollback')
    .description('make an earlier version the active policy again')
    .argument('[version]', 'default: the one before the active one', positiveInteger(MAX_VERSION))
    .option('--reason <text>', 'kept in the history')
    .option('--json', 'one JSON document')
    .action(async (version: number | undefined, _options: unknown, command: Command) =>
      context.exit(await rollback(version, optionsOf(command), context)),
    );
  config
    .command('history')
    .description('which version was active when, by whom and why')
    .option('--limit <n>', 'how many at most', positiveInteger(MAX_HISTORY), 20)
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await history(optionsOf(command), context)),
    );
  config
    .command('schema')
    .description('the JSON Schema of headgate.yaml, for editors')
    .option('--repository', 'that of .headgate.yaml in a repository')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await schema(optionsOf(command).repository === true, context)),
    );
}

async function show(
  file: string | undefined,
  { active, json }: ConfigOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const policy =
    active === true
      ? (await withDatabase(context, activePolicy)).policy
      : (await filePolicy(file, context)).policy;
  const { stringify } = await import('yaml');
  context.terminal.out(
    json === true ? JSON.stringify(policy) : stringify(policy, { aliasDuplicateObjects: false }),
  );
  return EXIT.done;
}

/** Ends the command when none was ever activated. */
async function activePolicy(pool: Pool): Promise<{ readonly version: number; readonly policy: Policy }> {
  const { policies } = await import('@headgate/store');
  const active = await pool.use((c) => policies.head(c));
  if (active !== null) return active;
  throw new CommandEnd(
    EXIT.notFound,
    'No policy is active yet.',
    'Activate one: headgate config apply headgate.yaml',
  );
}

async function diff(
  file: string | undefined,
  { json }: ConfigOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const [{ path, policy }, { policyDifference }] = await Promise.all([
    filePolicy(file, context),
    import('@headgate/config'),
  ]);
  const active = await withDatabase(context, activePolicy);
  const changes = policyDifference(active.policy, policy);
  if (json === true) terminal.out(JSON.stringify({ version: active.version, changes }));
  else if (changes.length === 0)
    terminal.out(`${shortPath(path)} means the same as version ${active.version}.`);
  else terminal.out(changeLines(changes, terminal.colors));
  return EXIT.done;
}

async function apply(
  file: string | undefined,
  { reason, over, json }: ConfigOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { path, policy } = await filePolicy(file, context);
  const inForce = await withDatabase(context, (pool) =>
    activate(pool, policy, { reason: reason ?? null, ...(over === undefined ? {} : { onlyOver: over }) }),
  );
  if (inForce === null) {
    throw new CommandEnd(
      EXIT.negative,
      `Version ${over} is not the active one: somebody was faster.`,
      'Look at it with "headgate config diff", then apply again.',
    );
  }
  const { terminal } = context;
  await tell(inForce, (told) => appliedWords(shortPath(path), told, terminal), json === true, context);
  return EXIT.done;
}

async function rollback(
  version: number | undefined,
  { reason, json }: ConfigOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const inForce = await withDatabase(context, async (pool) => {
    const { policies } = await import('@headgate/store');
    const active = await activePolicy(pool);
    const wanted = version ?? (await versionBefore(pool));
    const found = await pool.use((c) => policies.byVersion(c, wanted));
    if (found === null) {
      throw new CommandEnd(EXIT.notFound, `There is no version ${wanted}.`, 'See: headgate config history');
    }
    const why = reason ?? `back to version ${wanted}`;
    return activate(pool, found.policy, { reason: why, onlyOver: active.version });
  });
  if (inForce === null) {
    throw new CommandEnd(
      EXIT.negative,
      'Another version was activated meanwhile.',
      'See: headgate config history',
    );
  }
  await tell(inForce, (told) => rolledBackWords(told, context.terminal), json === true, context);
  return EXIT.done;
}

async function versionBefore(pool: Pool): Promise<number> {
  const { policies } = await import('@headgate/store');
  const [latest] = await pool.use((c) => policies.history(c, 1));
  const before = latest?.previousVersion ?? null;
  if (before !== null) return before;
  throw new CommandEnd(
    EXIT.notFound,
    'There is no version before the active one.',
    'See: headgate config history',
  );
}

type InForce = Omit<ActivationTold, 'now'>;

/** Makes it the active one and asks since when it is, in one opening of the database. Null: somebody was faster. */
async function activate(pool: Pool, policy: Policy, options: ActivateOptions): Promise<InForce | null> {
  const { policies } = await import('@headgate/store');
  const activated = await policies.activateOver(pool, policy, actor(), options);
  if (activated === null) return null;
  const [latest = null] = await pool.use((c) => policies.history(c, 1));
  return { activated, latest };
}

async function tell(
  { activated, latest }: InForce,
  words: (told: ActivationTold) => string,
  isJson: boolean,
  context: CommandContext,
): Promise<void> {
  const { terminal, now } = context;
  const { version, previousVersion, isChanged, undispatched } = activated;
  if (isJson) {
    const activatedAt = latest?.activatedAt ?? null;
    terminal.out(JSON.stringify({ version, previousVersion, changed: isChanged, undispatched, activatedAt }));
  } else terminal.out(words({ activated, latest, now: now() }));
  if (isChanged && (await runningInstance(settingsOf(context).dataDir)) !== null) {
    terminal.note('"headgate up" follows its own file: the next change of that becomes active instead.');
  }
}

async function history({ limit, json }: ConfigOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal, now } = context;
  const { policies } = await import('@headgate/store');
  const items = await withDatabase(context, (pool) => pool.use((c) => policies.history(c, limit ?? 20)));
  if (json === true) terminal.out(JSON.stringify({ items }));
  else if (items.length === 0) terminal.out('No policy was ever activated.');
  else {
    const rows = items.map((one) => [
      one.isActive ? terminal.colors.green(`${one.version}`) : `${one.version}`,
      ago(one.activatedAt.toISOString(), now()),
      one.actor,
      one.reason ?? '',
    ]);
    terminal.out(table(terminal, ['version', 'activated', 'by', 'why'], rows));
  }
  return EXIT.done;
}

async function schema(isRepository: boolean, { terminal }: CommandContext): Promise<ExitCode> {
  const { jsonSchema, repositoryFileJsonSchema } = await import('@headgate/config');
  terminal.out(JSON.stringify(isRepository ? repositoryFileJsonSchema() : jsonSchema(), null, 2));
  return EXIT.done;
}

/** Who did it, as the history shows. */
function actor(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return 'cli';
  }
}
