/** `headgate why`: the causal chain behind anything, as a tree. */
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { clientOf, findInstance } from '../instance/find.js';
import { explanationTree } from '../terminal/explanation-tree.js';
import type { CommandContext } from './command.js';

export function addWhy(program: Command, context: CommandContext): void {
  program
    .command('why')
    .description('why something ran, waits, or did not run')
    .argument(
      '<anything>',
      'a delivery id, receipt, run, task, schedule, goal, work key, owner/repo#7, GitHub URL or commit',
    )
    .option('--json', 'one JSON document')
    .action(async (ref: string, _options: unknown, command: Command) =>
      context.exit(await why(ref, command.optsWithGlobals().json === true, context)),
    );
}

/** What is no work, but makes it. */
const TIMERS = [
  { prefix: 'sch_', page: 'schedules' },
  { prefix: 'goal_', page: 'goals' },
] as const;

async function why(ref: string, isJson: boolean, context: CommandContext): Promise<ExitCode> {
  const explanation = await clientOf(findInstance(context)).explain(ref);
  context.terminal.out(isJson ? JSON.stringify(explanation) : explanationTree(explanation, context.terminal));
  const timer = TIMERS.find(({ prefix }) => ref.startsWith(prefix));
  if (timer !== undefined)
    context.terminal.note(`It has a page of its own: headgate ${timer.page} describe ${ref}`);
  return explanation.kind === 'none' ? EXIT.notFound : EXIT.done;
}
