/** `headgate presets`: routes that many people want, and what stands behind their names. */
import type { Command } from 'commander';
import { CommandEnd, EXIT, type ExitCode } from '../exit.js';
import { table } from '../terminal/table.js';
import type { CommandContext } from './command.js';

export function addPresets(program: Command, context: CommandContext): void {
  const presets = program.command('presets').description('routes to use by name: use: fix-failing-check@1');
  presets
    .command('list', { isDefault: true })
    .description('all presets')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await list(command.optsWithGlobals().json === true, context)),
    );
  presets
    .command('show')
    .description('a preset written out, as YAML')
    .argument('<name>', 'with its version: fix-failing-check@1')
    .option('--json', 'one JSON document')
    .action(async (name: string, _options: unknown, command: Command) =>
      context.exit(await show(name, command.optsWithGlobals().json === true, context)),
    );
}

async function list(isJson: boolean, { terminal }: CommandContext): Promise<ExitCode> {
  const { PRESETS } = await import('@headgate/config');
  if (isJson) terminal.out(JSON.stringify({ items: PRESETS }));
  else
    terminal.out(
      table(
        terminal,
        ['preset', 'what it is for'],
        PRESETS.map(({ name, summary }) => [name, summary]),
      ),
    );
  return EXIT.done;
}

async function show(name: string, isJson: boolean, { terminal }: CommandContext): Promise<ExitCode> {
  const { findPreset, presetSuggestion, presetYaml } = await import('@headgate/config');
  const preset = findPreset(name);
  if (preset === null) {
    throw new CommandEnd(EXIT.notFound, `There is no preset "${name}".`, presetSuggestion(name));
  }
  terminal.out(isJson ? JSON.stringify(preset) : `# ${preset.summary}\n${presetYaml(preset)}`);
  return EXIT.done;
}
