/** `headgate check-config`: every problem of the configuration at once, and what it would do with a signal. */
import { resolve } from 'node:path';
import type { Policy } from '@headgate/domain';
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { settingsOf } from '../instance/find.js';
import { problemLines, shortPath } from '../terminal/problems.js';
import { count } from '../terminal/words.js';
import type { CommandContext } from './command.js';
import { given } from './options.js';

interface CheckOptions {
  readonly explain?: string;
  readonly event?: string;
  readonly source?: string;
  readonly repository?: string;
  readonly schema?: boolean;
  readonly json?: boolean;
}

export function addCheckConfig(program: Command, context: CommandContext): void {
  program
    .command('check-config')
    .description('check a configuration; every problem with its line and what to do')
    .argument('[file]', 'default: HEADGATE_CONFIG, else headgate.yaml')
    .option(
      '--explain <payload>',
      'which routes would take it, and why the others not: a sample as of "headgate send", or a .json file of GitHub',
    )
    .option('--event <event>', 'of a .json file that is not called so: check_run')
    .option('--source <id>', 'the source that would receive it; default: the only one of its kind')
    .option('--repository <owner/name>', 'that a sample is about; default: the first of the source')
    .option('--schema', 'print the JSON Schema of headgate.yaml instead')
    .option('--json', 'one JSON document')
    .action(async (file: string | undefined, _options: unknown, command: Command) =>
      context.exit(await check(file, command.optsWithGlobals<CheckOptions>(), context)),
    );
}

async function check(
  file: string | undefined,
  options: CheckOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { env, cwd, terminal } = context;
  const { loadConfig, jsonSchema } = await import('@headgate/config');
  if (options.schema === true) {
    terminal.out(JSON.stringify(jsonSchema(), null, 2));
    return EXIT.done;
  }
  const isJson = options.json === true;
  const settings = settingsOf(context);
  const path = file === undefined ? settings.configPath : resolve(cwd, file);
  const result = await loadConfig({ path, env, dataDir: settings.dataDir });
  const problems = result.ok ? [] : result.problems;
  const warnings = result.ok ? result.warnings : [];
  if (result.ok && options.explain !== undefined) {
    return explain(options.explain, options, result.policy, context);
  }
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

/** Exit 1 when no route takes it. */
async function explain(
  what: string,
  { event, source, repository, json }: CheckOptions,
  policy: Policy,
  { cwd, now, terminal }: CommandContext,
): Promise<ExitCode> {
  const [{ readSignal }, { explainSignal, explanationLines }] = await Promise.all([
    import('../explain/read-signal.js'),
    import('../explain/explain-signal.js'),
  ]);
  const signal = await readSignal({ what, cwd, now: now(), ...given({ event, source, repository }) }, policy);
  const tenant = policy.sources.find((one) => one.id === signal.source)?.tenant ?? '';
  const explanation = explainSignal(signal, tenant, policy);
  terminal.out(json === true ? JSON.stringify(explanation) : explanationLines(explanation, terminal));
  return explanation.routes.some(({ takes }) => takes) ? EXIT.done : EXIT.negative;
}
