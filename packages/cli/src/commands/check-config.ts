/** `headgate check-config`: every problem of the configuration at once, before it counts. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { settingsOf } from '../instance/find.js';
import { problemLines, shortPath } from '../terminal/problems.js';
import { count } from '../terminal/words.js';
import type { CommandContext } from './command.js';

export function addCheckConfig(program: Command, context: CommandContext): void {
  program
    .command('check-config')
    .description('check a configuration; every problem with its line and what to do')
    .argument('[file]', 'default: HEADGATE_CONFIG, else headgate.yaml')
    .option('--json', 'one JSON document')
    .action(async (file: string | undefined, _options: unknown, command: Command) =>
      context.exit(await check(file, command.optsWithGlobals().json === true, context)),
    );
}

async function check(file: string | undefined, isJson: boolean, context: CommandContext): Promise<ExitCode> {
  const { env, cwd, terminal } = context;
  const settings = settingsOf(context);
  const path = file === undefined ? settings.configPath : resolve(cwd, file);
  const { loadConfig } = await import('@headgate/config');
  const result = await loadConfig({ path, env, dataDir: settings.dataDir });
  const problems = result.ok ? [] : result.problems;
  const warnings = result.ok ? result.warnings : [];
  if (isJson) terminal.out(JSON.stringify({ ok: result.ok, problems, warnings }));
  if (warnings.length > 0 && !isJson) terminal.note(problemLines(warnings, path, terminal));
  if (!result.ok) {
    if (!isJson) terminal.note(problemLines(problems, path, terminal));
    return EXIT.usage;
  }
  if (!isJson) {
    const { sources, routes, agents } = result.policy;
    const what = [
      count(sources.length, 'source'),
      count(agents.length, 'agent'),
      count(routes.length, 'route'),
    ];
    terminal.out(`${terminal.colors.green('✓')} ${shortPath(path)} is sound: ${what.join(', ')}.`);
  }
  return EXIT.done;
}
