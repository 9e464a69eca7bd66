/** `headgate schedules`: list, describe, pause, resume, trigger, backfill. */
import type { OverlapPolicy } from '@headgate/domain';
import type { Client, Schedule, ScheduleCount, ScheduleDetail, ScheduleRequest } from '@headgate/sdk';
import { type Command, Option } from 'commander';
import { CommandEnd, EXIT, type ExitCode } from '../exit.js';
import { idByRoute } from '../instance/by-route.js';
import { clientOf, findInstance } from '../instance/find.js';
import { pairs, table } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { ago, count } from '../terminal/words.js';
import type { CommandContext } from './command.js';
import { durationMs, given, instantBefore, positiveInteger } from './options.js';

const MAX_PAGE = 200;
const DEFAULT_PAGE = 20;
const DEFAULT_TIMEOUT_MS = 60_000;
const POLL_MS = 500;
const OVERLAPS = ['skip', 'bufferOne', 'bufferAll', 'cancelOther', 'terminateOther', 'allowAll'] as const;

interface Common {
  readonly json?: boolean;
}
interface TriggerOptions extends Common {
  readonly overlap?: OverlapPolicy;
  readonly reason?: string;
  readonly timeout: number;
  readonly wait?: boolean;
}
interface BackfillOptions extends TriggerOptions {
  readonly from: string;
  readonly until?: string;
  readonly dryRun?: boolean;
}

export function addSchedules(program: Command, context: CommandContext): void {
  const schedules = program
    .command('schedules')
    .description('schedules: list, describe, pause, resume, trigger, backfill');
  const one = (name: string, description: string): Command =>
    schedules
      .command(name)
      .description(description)
      .argument('<schedule>', 'sch_…, or the route that has only one')
      .option('--json', 'one JSON document');
  schedules
    .command('list', { isDefault: true })
    .description('all schedules, with their next time')
    .option('--limit <n>', 'at most so many', positiveInteger(MAX_PAGE), DEFAULT_PAGE)
    .option('--cursor <cursor>', 'where the page before ended')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(
        await list(command.optsWithGlobals<Common & { limit: number; cursor?: string }>(), context),
      ),
    );
  one('describe', 'its contract, its last and next times, and how many in all').action(
    async (id: string, _options: unknown, command: Command) =>
      context.exit(await describe(id, (client, known) => client.schedules.get(known), command, context)),
  );
  one('pause', 'let its times pass')
    .option('--note <text>', 'shown until it is resumed')
    .action(async (id: string, _options: unknown, command: Command) => {
      const { note } = command.optsWithGlobals<{ note?: string }>();
      const ask: Ask = (client, known) => client.schedules.pause(known, given({ note }));
      context.exit(await describe(id, ask, command, context));
    });
  one('resume', 'let it tick again').action(async (id: string, _options: unknown, command: Command) =>
    context.exit(await describe(id, (client, known) => client.schedules.resume(known), command, context)),
  );
  requestOptions(one('trigger', 'run it now')).action(
    async (id: string, _options: unknown, command: Command) =>
      context.exit(await trigger(id, command.optsWithGlobals<TriggerOptions>(), context)),
  );
  requestOptions(one('backfill', 'run the times of a span that were not fired'))
    .requiredOption('--from <time>', 'a time, or how long ago: 7d', instantBefore(context.now))
    .option('--until <time>', 'now, if it is left out', instantBefore(context.now))
    .option('--dry-run', 'only say which')
    .action(async (id: string, _options: unknown, command: Command) =>
      context.exit(await backfill(id, command.optsWithGlobals<BackfillOptions>(), context)),
    );
}

const requestOptions = (command: Command): Command =>
  command
    .addOption(new Option('--overlap <rule>', 'instead of its own').choices([...OVERLAPS]))
    .option('--reason <text>', 'kept with the request')
    .option('--no-wait', 'do not wait until a ticker has done it')
    .option('--timeout <time>', 'how long to wait', durationMs, DEFAULT_TIMEOUT_MS);

async function list(
  { json, limit, cursor }: Common & { limit: number; cursor?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, now } = context;
  const page = await clientOf(findInstance(context)).schedules.page(given({ limit, cursor }));
  if (json === true) terminal.out(JSON.stringify(page));
  else if (page.items.length === 0) {
    terminal.out('No schedules. A route with { cron: "0 3 * * 1" } under "on" makes one.');
  } else {
    terminal.out(
      table(
        terminal,
        ['state', 'schedule', 'route', 'when', 'next', 'last'],
        page.items.map((it) => [
          it.state,
          it.id,
          it.route,
          `${it.cron} ${it.timezone}`,
          it.nextAt === null ? '' : ago(it.nextAt, now()),
          lastWords(it, now()),
        ]),
      ),
    );
    if (page.nextCursor !== null) terminal.note(`More: --cursor ${page.nextCursor}`);
  }
  return EXIT.done;
}

const lastWords = ({ recent: [last] }: Schedule, now: Date): string =>
  last === undefined ? '' : `${last.bucket} ${last.reasonCode} ${ago(last.untilAt, now)}`;

type Ask = (client: Client, id: string) => Promise<ScheduleDetail>;

const idOf = (name: string, client: Client): Promise<string> =>
  idByRoute(name, 'schedule', client.schedules.all());

async function describe(
  name: string,
  ask: Ask,
  command: Command,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, now } = context;
  const client = clientOf(findInstance(context));
  const schedule = await ask(client, await idOf(name, client));
  const { json } = command.optsWithGlobals<Common>();
  terminal.out(json === true ? JSON.stringify(schedule) : schedulePage(schedule, terminal, now()));
  return EXIT.done;
}

export function schedulePage(it: ScheduleDetail, terminal: Terminal, now: Date): string {
  const facts: [string, string | null][] = [
    ['route', it.route],
    ['when', `${it.cron} ${it.timezone}`],
    ['between', bounds(it)],
    ['leaves out', it.exclude.length === 0 ? null : it.exclude.join(', ')],
    ['overlap', it.overlap],
    ['catch-up', it.catchUp.mode],
    ['paused', it.pausedAt === null ? null : `by ${it.pausedBy} ${ago(it.pausedAt, now)}`],
    ['note', it.note],
    ['next', it.nextAt === null ? null : `${it.nextAt} (${ago(it.nextAt, now)})`],
    ['in all', it.counts.map(countWords).join(', ') || null],
    ['running', it.running.join(', ') || null],
  ];
  const recent = table(
    terminal,
    ['time', 'times', 'became', 'reason', 'run'],
    it.recent.map((tick) => [
      tick.nominalAt,
      String(tick.count),
      tick.origin === 'timer' ? tick.bucket : `${tick.bucket} (${tick.origin})`,
      tick.reasonCode,
      tick.runId ?? '',
    ]),
  );
  return [
    `${terminal.colors.bold(it.id)}  ${it.state}`,
    '',
    pairs(
      terminal,
      facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
    ),
    ...(it.recent.length === 0 ? [] : ['', recent]),
    ...(it.next.length === 0 ? [] : ['', terminal.colors.dim('next times'), ...it.next]),
  ].join('\n');
}

const bounds = ({ startAt, endAt }: ScheduleDetail): string | null =>
  startAt === null && endAt === null ? null : `${startAt ?? '…'} and ${endAt ?? '…'}`;
const countWords = ({ origin, bucket, total }: ScheduleCount): string =>
  `${total} ${bucket}${origin === 'timer' ? '' : ` (${origin})`}`;

async function trigger(name: string, options: TriggerOptions, context: CommandContext): Promise<ExitCode> {
  const client = clientOf(findInstance(context));
  const { overlap, reason } = options;
  const request = await client.schedules.trigger(await idOf(name, client), given({ overlap, reason }));
  return follow(client, request, options, context);
}

async function backfill(name: string, options: BackfillOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal, now } = context;
  const client = clientOf(findInstance(context));
  const id = await idOf(name, client);
  const { from, until = now().toISOString(), overlap, reason, dryRun } = options;
  const plan = await client.schedules.backfill(id, { from, until, ...given({ overlap, reason, dryRun }) });
  if (plan.request !== null) {
    terminal.note(`${count(plan.times - plan.alreadyFired, 'time')} to run.`);
    return follow(client, plan.request, options, context);
  }
  if (options.json === true) terminal.out(JSON.stringify(plan));
  else {
    const left = plan.times - plan.alreadyFired;
    terminal.out(
      `${count(left, 'time')} would run; ${plan.alreadyFired} of ${plan.times} were fired before.`,
    );
    for (const at of plan.first) terminal.out(`  ${at}`);
    if (left > plan.first.length) terminal.out(`  and ${left - plan.first.length} more`);
  }
  return EXIT.done;
}

/** Waits until a ticker has done it; what it led to stands in the schedule's ticks. */
async function follow(
  client: Client,
  asked: ScheduleRequest,
  { json, wait, timeout }: TriggerOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  let request = asked;
  const deadlineMs = performance.now() + timeout;
  while (wait !== false && request.state === 'pending') {
    if (performance.now() > deadlineMs) {
      throw new CommandEnd(
        EXIT.timedOut,
        'No ticker has done it yet.',
        'Is an intake running? headgate status',
      );
    }
    await new Promise((resolve) => {
      setTimeout(resolve, POLL_MS);
    });
    request = await client.schedules.request(request.scheduleId, request.id);
  }
  if (json === true) terminal.out(JSON.stringify(request));
  else terminal.out(requestWords(request));
  if (json !== true && request.state === 'done') {
    const { recent } = await client.schedules.get(request.scheduleId);
    for (const tick of recent.filter((one) => one.origin === request.kind)) {
      terminal.out(`  ${tick.nominalAt}  ${tick.bucket}  ${tick.reasonCode}  ${tick.runId ?? ''}`.trimEnd());
    }
  }
  return request.state === 'refused' ? EXIT.negative : EXIT.done;
}

function requestWords({ id, state, ticks, detail }: ScheduleRequest): string {
  switch (state) {
    case 'pending':
      return `${id} was asked for; a ticker does it within seconds.`;
    case 'done':
      return `${id} is done: ${count(ticks, 'tick')}.`;
    case 'refused':
      return `${id} was refused. ${detail ?? ''}`.trimEnd();
  }
}
