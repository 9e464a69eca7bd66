/** `headgate config show`: what the configuration means, every default spelled out. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { CommandEnd, EXIT, type ExitCode } from '../exit.js';
import { settingsOf } from '../instance/find.js';
import { problemLines } from '../terminal/problems.js';
import type { CommandContext } from './command.js';

export function addConfig(program: Command, context: CommandContext): void {
  program
    .command('config')
    .description('the configuration as Headgate understands it')
    .command('show', { isDefault: true })
    .description('every default spelled out; secrets stay references')
    .argument('[file]', 'default: HEADGATE_CONFIG, else headgate.yaml')
    .option('--json', 'one JSON document')
    .action(async (file: string | undefined, _options: unknown, command: Command) =>
      context.exit(await show(file, command.optsWithGlobals().json === true, context)),
    );
}

async function show(file: string | undefined, isJson: boolean, context: CommandContext): Promise<ExitCode> {
  const { env, cwd, terminal } = context;
  const settings = settingsOf(context);
  const path = file === undefined ? settings.configPath : resolve(cwd, file);
  const [{ loadConfig }, { stringify }] = await Promise.all([import('@headgate/config'), import('yaml')]);
  const result = await loadConfig({ path, env, dataDir: settings.dataDir });
  if (!result.ok) throw new CommandEnd(EXIT.usage, problemLines(result.problems, path, terminal));
  terminal.out(isJson ? JSON.stringify(result.policy) : stringify(result.policy));
  return EXIT.done;
}
