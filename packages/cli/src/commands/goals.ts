/** `headgate goals`: list, describe, pause, resume, reset. */
import type { Client, Goal, GoalDetail } from '@headgate/sdk';
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { idByRoute } from '../instance/by-route.js';
import { clientOf, findInstance } from '../instance/find.js';
import { pairs, table } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { ago, count, usd } from '../terminal/words.js';
import type { CommandContext } from './command.js';
import { given, positiveInteger } from './options.js';

const MAX_PAGE = 200;
const DEFAULT_PAGE = 20;

interface ListOptions {
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

export function addGoals(program: Command, context: CommandContext): void {
  const goals = program.command('goals').description('goals: list, describe, pause, resume, reset');
  const one = (name: string, description: string): Command =>
    goals
      .command(name)
      .description(description)
      .argument('<goal>', 'goal_…, or the route that has only one')
      .option('--json', 'one JSON document');
  goals
    .command('list', { isDefault: true })
    .description('all goals, and how far they are')
    .option('--limit <n>', 'at most so many', positiveInteger(MAX_PAGE), DEFAULT_PAGE)
    .option('--cursor <cursor>', 'where the page before ended')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await list(command.optsWithGlobals<ListOptions>(), context)),
    );
  one('describe', 'its bounds, how far it is, and what it saw').action(
    async (id: string, _options: unknown, command: Command) =>
      context.exit(await describe(id, (client, known) => client.goals.get(known), command, context)),
  );
  one('pause', 'begin nothing more')
    .option('--note <text>', 'shown until it is resumed')
    .action(async (id: string, _options: unknown, command: Command) => {
      const { note } = command.optsWithGlobals<{ note?: string }>();
      const ask: Ask = (client, known) => client.goals.pause(known, given({ note }));
      context.exit(await describe(id, ask, command, context));
    });
  one('resume', 'let it go on').action(async (id: string, _options: unknown, command: Command) =>
    context.exit(await describe(id, (client, known) => client.goals.resume(known), command, context)),
  );
  one('reset', 'begin anew, with all its bounds')
    .option('--reason <text>', 'kept in the record')
    .action(async (id: string, _options: unknown, command: Command) => {
      const { reason } = command.optsWithGlobals<{ reason?: string }>();
      const ask: Ask = (client, known) => client.goals.reset(known, given({ reason }));
      context.exit(await describe(id, ask, command, context));
    });
}

async function list({ json, limit, cursor }: ListOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal, now } = context;
  const page = await clientOf(findInstance(context)).goals.page(given({ limit, cursor }));
  if (json === true) terminal.out(JSON.stringify(page));
  else if (page.items.length === 0) {
    terminal.out('No goals. A route with { goal: … } under "on" makes one for each repository.');
  } else {
    terminal.out(
      table(
        terminal,
        ['state', 'goal', 'route', 'repository', 'runs', 'cost', 'since'],
        page.items.map((it) => [
          it.state,
          it.id,
          it.route,
          it.repository,
          `${it.runs} of ${it.stop.maxRuns}`,
          usd(it.costUsd),
          ago(it.stateAt, now()),
        ]),
      ),
    );
    if (page.nextCursor !== null) terminal.note(`More: --cursor ${page.nextCursor}`);
  }
  return EXIT.done;
}

type Ask = (client: Client, id: string) => Promise<GoalDetail>;

async function describe(
  name: string,
  ask: Ask,
  command: Command,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, now } = context;
  const client = clientOf(findInstance(context));
  const goal = await ask(client, await idByRoute(name, 'goal', client.goals.all()));
  const { json } = command.optsWithGlobals<{ json?: boolean }>();
  terminal.out(json === true ? JSON.stringify(goal) : goalPage(goal, terminal, now()));
  return EXIT.done;
}

export function goalPage(it: GoalDetail, terminal: Terminal, now: Date): string {
  const facts: [string, string | null][] = [
    ['route', it.route],
    ['repository', it.repository],
    ['until', it.until],
    ['looks', `${it.cadence} ${it.timezone}`],
    ['runs', `${it.runs} of ${it.stop.maxRuns}, ${it.noProgress} of ${it.stop.noProgress} without progress`],
    ['cost', costWords(it)],
    ['deadline', `${it.deadlineAt} (${ago(it.deadlineAt, now)})`],
    ['under way', it.runId === null ? null : `${it.phase}: ${it.runId}`],
    ['next look', it.nextAt === null ? null : ago(it.nextAt, now)],
    ['reason', it.reasonCode],
    ['note', it.note],
    ['receipt', it.receiptId],
  ];
  const seen = table(
    terminal,
    ['look', 'outcome', 'at', 'when', 'receipt'],
    it.recent.map((one) => [
      `${one.epoch}.${one.number}`,
      one.outcome,
      `${one.ref ?? ''} ${one.version?.slice(0, 7) ?? ''}`.trim(),
      ago(one.observedAt, now),
      one.receiptId ?? '',
    ]),
  );
  return [
    `${terminal.colors.bold(it.id)}  ${it.state} since ${ago(it.stateAt, now)}`,
    '',
    pairs(
      terminal,
      facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
    ),
    '',
    it.recent.length === 0 ? `${count(0, 'observation')} yet.` : seen,
  ].join('\n');
}

const costWords = ({ costUsd, stop }: Goal): string =>
  stop.maxCostUsd === null ? usd(costUsd) : `${usd(costUsd)} of ${usd(stop.maxCostUsd)}`;
