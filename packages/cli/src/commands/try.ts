/** `headgate try`: a run on one thing that a person has before their eyes. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ExitCode } from '../exit.js';
import { clientOf, findInstance } from '../instance/find.js';
import { type ForgePlace, forgePlace } from '../send/forge-url.js';
import type { CommandContext } from './command.js';
import { durationMs, given } from './options.js';
import { askForWork, DEFAULT_WAIT_MS } from './trigger.js';

interface TryOptions {
  readonly route?: string;
  readonly reason?: string;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly json?: boolean;
}

export function addTry(program: Command, context: CommandContext): void {
  program
    .command('try')
    .description('ask for a run on one pull request, issue, commit or branch, by its URL')
    .argument('<url>', 'as in the browser: https://github.com/acme/api/pull/7', place)
    .option('--route <route>', 'default: the only one that lists "manual" and works on the repository')
    .option('--reason <text>', 'kept in the record')
    .option('--wait', 'follow the run to its end; exit 1 unless it succeeds')
    .addOption(
      new Option('--timeout <duration>', 'how long --wait waits')
        .argParser(durationMs)
        .default(DEFAULT_WAIT_MS, '30m'),
    )
    .option('--json', 'one JSON document')
    .action(async (at: ForgePlace, _options: TryOptions, command: Command) =>
      context.exit(await tryAt(at, command.optsWithGlobals<TryOptions>(), context)),
    );
}

function tryAt(at: ForgePlace, options: TryOptions, context: CommandContext): Promise<ExitCode> {
  const client = clientOf(findInstance(context));
  const { route, reason } = options;
  return askForWork(client, { ...at, ...given({ route, reason }) }, options, context);
}

function place(text: string): ForgePlace {
  const found = forgePlace(text);
  if (found !== null) return found;
  throw new InvalidArgumentError(
    'Give the URL of a pull request, an issue, a commit or a branch, e.g. https://github.com/acme/api/pull/7.',
  );
}
