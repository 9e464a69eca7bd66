/** `headgate migrate`: brings a Postgres to the schema of this version. */
import type { Settings } from '@headgate/config';
import type { Command } from 'commander';
import { CommandEnd, EXIT, type ExitCode } from '../exit.js';
import { settingsOf } from '../instance/find.js';
import { count } from '../terminal/words.js';
import type { CommandContext } from './command.js';

export function addMigrate(program: Command, context: CommandContext): void {
  program
    .command('migrate')
    .description('bring the Postgres of DATABASE_URL to the schema of this version, and make its roles')
    .option('--plan', 'only say what would be applied')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) => {
      const { plan, json } = command.optsWithGlobals<{ plan?: boolean; json?: boolean }>();
      const run = plan === true ? showPlan : apply;
      context.exit(await run(settingsOf(context), json === true, context));
    });
}

async function showPlan(
  settings: Settings,
  isJson: boolean,
  { terminal }: CommandContext,
): Promise<ExitCode> {
  const { plan } = await import('@headgate/store');
  const names = (await plan(ownerUrlOf(settings)).catch(unreachable)).map(({ name }) => name);
  if (isJson) terminal.out(JSON.stringify({ pending: names }));
  else if (names.length === 0) terminal.out('Nothing to apply: the schema is at its newest.');
  else
    terminal.out(
      [`Would apply ${count(names.length, 'migration')}:`, ...names.map((name) => `  ${name}`)].join('\n'),
    );
  return EXIT.done;
}

async function apply(settings: Settings, isJson: boolean, { terminal }: CommandContext): Promise<ExitCode> {
  const { migrate, roleUrls } = await import('@headgate/store');
  const { passwords } = await roleUrls({
    ownerUrl: ownerUrlOf(settings),
    dataDir: settings.dataDir,
    serviceUrl: settings.databaseUrlService,
    apiUrl: settings.databaseUrlApi,
  });
  const result = await migrate({ ownerUrl: ownerUrlOf(settings), passwords }).catch(unreachable);
  if (isJson) terminal.out(JSON.stringify(result));
  else if (result.applied.length === 0) terminal.out('Nothing to apply: the schema is at its newest.');
  else
    terminal.out(
      [
        `Applied ${count(result.applied.length, 'migration')}:`,
        ...result.applied.map((name) => `  ${name}`),
      ].join('\n'),
    );
  return EXIT.done;
}

function ownerUrlOf({ databaseUrl }: Settings): string {
  if (databaseUrl !== null) return databaseUrl;
  throw new CommandEnd(
    EXIT.usage,
    'DATABASE_URL is not set: it names the Postgres to migrate, as the owner of the schema.',
    '"headgate up" migrates its own Postgres by itself.',
  );
}

/** A schema that this version does not know says so itself; the rest is Postgres not answering, or refusing. */
function unreachable(fault: unknown): never {
  throw new CommandEnd(
    EXIT.negative,
    fault instanceof Error && fault.message !== '' ? fault.message : 'Postgres does not answer.',
    'Check DATABASE_URL, and that its role may create roles and a schema: headgate doctor',
    { cause: fault },
  );
}
