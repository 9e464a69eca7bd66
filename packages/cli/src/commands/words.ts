/**
 * `headgate runs publish|discard|approve|decline`: a person's word on a run that waits for one. It is said of the request
 * that stands when the command begins, and of no later one.
 */
import { WORD_MEANINGS, WORDS, type Word } from '@headgate/domain';
import type { RunDetail } from '@headgate/sdk';
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { clientOf, findInstance } from '../instance/find.js';
import { isOver, waitForRun } from '../instance/wait-for-run.js';
import { progressLine } from '../terminal/status.js';
import type { CommandContext } from './command.js';
import { given, timeoutOption } from './options.js';
import { endOfRun } from './run-end.js';

const DESCRIPTIONS: Readonly<Record<Word, string>> = {
  publish: 'let a sealed result be published, exactly as the run shows it',
  discard: 'end a run whose result nobody wants; what it sealed stays readable',
  approve: 'let work start that waits for a person',
  decline: 'end such work before its agent starts',
};

interface WordOptions {
  readonly reason?: string;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly json?: boolean;
}

export function addWords(runs: Command, context: CommandContext): void {
  for (const word of WORDS) {
    const command = runs
      .command(word)
      .description(DESCRIPTIONS[word])
      .argument('<run>', 'run_…')
      .option('--reason <text>', 'kept in the record');
    if (WORD_MEANINGS[word].outcome === 'approved') {
      command
        .option('--wait', 'follow the run to its end; exit 1 unless it succeeds')
        .addOption(timeoutOption());
    }
    command
      .option('--json', 'one JSON document')
      .action(async (id: string, _options: unknown, asked: Command) =>
        context.exit(await say(word, id, asked.optsWithGlobals<WordOptions>(), context)),
      );
  }
}

async function say(word: Word, id: string, options: WordOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal, now } = context;
  const client = clientOf(findInstance(context));
  const { approval } = await client.runs.get(id);
  const { reason } = options;
  let run: RunDetail = await client.runs[word](id, given({ approvalId: approval?.id, reason }));
  if (options.wait === true && !isOver(run)) {
    run = await waitForRun({
      client,
      runId: id,
      timeoutMs: options.timeout,
      onChange: (seen) => terminal.note(progressLine(seen, now(), terminal.colors)),
    });
  }
  terminal.out(options.json === true ? JSON.stringify(run) : endOfRun(run, terminal));
  return options.wait === true && run.publicStatus !== 'succeeded' ? EXIT.negative : EXIT.done;
}
