/** `headgate receipts`: what was decided about every signal, and deciding it again. */
import type { Client, Page, Receipt, ReceiptQuery } from '@headgate/sdk';
import { type Command, Option } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { clientOf, findInstance } from '../instance/find.js';
import { oneAnswer } from '../send/say.js';
import { outcomeWord } from '../terminal/outcome.js';
import { pairs, table } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { ago } from '../terminal/words.js';
import type { CommandContext } from './command.js';
import { given, instantBefore, positiveInteger } from './options.js';

const MAX_PAGE = 200;
const DEFAULT_PAGE = 20;

export function addReceipts(program: Command, context: CommandContext): void {
  const receipts = program.command('receipts').description('receipts: list, show, replay');
  receipts
    .command('list', { isDefault: true })
    .description('the newest receipts')
    .addOption(new Option('--kind <kind>').choices(['decision', 'closing']).default('decision'))
    .addOption(new Option('--outcome <outcome>').choices(['accept', 'defer', 'reject', 'no-work']))
    .option('--reason-code <code>')
    .option('--source <id>')
    .option('--route <route>')
    .option('--event-id <id>', 'the delivery id')
    .option('--work-key <key>')
    .option('--repository <owner/name>')
    .option('--run-id <run>')
    .option('--since <time>', 'a time, or how long ago: 7d', instantBefore(context.now))
    .option('--until <time>', 'before a time, or how long ago: 2h', instantBefore(context.now))
    .option('--limit <n>', 'at most so many', positiveInteger(MAX_PAGE), DEFAULT_PAGE)
    .option('--cursor <cursor>', 'where the page before ended')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await list(command.optsWithGlobals<ReceiptQuery & { json?: boolean }>(), context)),
    );
  receipts
    .command('show')
    .description('one receipt, with its whole identity')
    .argument('<receipt>', 'rcpt_…')
    .option('--json', 'one JSON document')
    .action(async (id: string, _options: unknown, command: Command) =>
      context.exit(await show(id, command.optsWithGlobals().json === true, context)),
    );
  receipts
    .command('replay')
    .description('decide its signal again by today’s rules: the same once more, or as new work')
    .argument('<receipt>', 'rcpt_…')
    .option('--as-new-work', 'a new run of the same version, as a new generation')
    .option('--cancel-live', 'with --as-new-work: end a run of the same work that is under way')
    .option('--nonce <text>', 'the same one again gets the same answer')
    .option('--json', 'one JSON document')
    .action(async (id: string, _options: unknown, command: Command) =>
      context.exit(await replay(id, command.optsWithGlobals<ReplayOptions>(), context)),
    );
}

interface ReplayOptions {
  readonly asNewWork?: boolean;
  readonly cancelLive?: boolean;
  readonly nonce?: string;
  readonly json?: boolean;
}

async function replay(id: string, options: ReplayOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const { asNewWork, cancelLive, nonce, json } = options;
  const as = asNewWork === true ? 'newWork' : 'signal';
  const answer = await clientOf(findInstance(context)).receipts.replay(id, given({ as, nonce, cancelLive }));
  terminal.out(json === true ? JSON.stringify(answer) : oneAnswer(answer, terminal));
  return EXIT.done;
}

async function list(options: ReceiptQuery & { json?: boolean }, context: CommandContext): Promise<ExitCode> {
  const { json, ...query } = options;
  const { terminal, now } = context;
  const page = await lookBack(clientOf(findInstance(context)), given(query));
  if (json === true) terminal.out(JSON.stringify(page));
  else if (page.items.length === 0 && page.nextCursor !== null) {
    terminal.out(`None among the newest that were looked through. Further back: --cursor ${page.nextCursor}`);
  } else if (page.items.length === 0) {
    terminal.out('No receipts. Every signal leaves one: headgate send check_run.completed');
  } else {
    terminal.out(receiptTable(page.items, terminal, now()));
    if (page.nextCursor !== null) terminal.note(`More: --cursor ${page.nextCursor}`);
  }
  return EXIT.done;
}

/** Short pages that go on: the API looks through so many receipts for one. A hundred thousand are enough at once. */
const MOST_PAGES = 20;

/** What matches little is sought further back than one page of the API does. */
async function lookBack(client: Client, query: ReceiptQuery): Promise<Page<Receipt>> {
  const limit = query.limit ?? DEFAULT_PAGE;
  const items: Receipt[] = [];
  let cursor = query.cursor;
  for (let pages = 1; ; pages += 1) {
    const asked = { ...query, limit: limit - items.length, ...(cursor === undefined ? {} : { cursor }) };
    const page = await client.receipts.page(asked);
    items.push(...page.items);
    if (page.nextCursor === null || items.length >= limit || pages === MOST_PAGES) {
      return { items, nextCursor: page.nextCursor };
    }
    cursor = page.nextCursor;
  }
}

function receiptTable(receipts: readonly Receipt[], terminal: Terminal, now: Date): string {
  return table(
    terminal,
    ['outcome', 'reason', 'receipt', 'type', 'route', 'created', 'run'],
    receipts.map((it) => [
      outcomeWord(it.outcome, terminal.colors),
      it.reasonCode,
      it.id,
      it.delivery.type,
      it.route ?? '',
      ago(it.createdAt, now),
      it.execution.runId ?? '',
    ]),
  );
}

async function show(id: string, isJson: boolean, context: CommandContext): Promise<ExitCode> {
  const receipt = await clientOf(findInstance(context)).receipts.get(id);
  context.terminal.out(
    isJson ? JSON.stringify(receipt) : receiptPage(receipt, context.terminal, context.now()),
  );
  return EXIT.done;
}

export function receiptPage(receipt: Receipt, terminal: Terminal, now: Date): string {
  const { colors } = terminal;
  const { delivery, domain, execution } = receipt;
  const facts: [string, string | null][] = [
    ['decided by', `${receipt.rule}, policy version ${domain.policyVersion}`],
    ['signal', `${delivery.type} from ${delivery.source} by ${receipt.via}`],
    ['delivery', delivery.eventId + (delivery.hookId === null ? '' : ` (hook ${delivery.hookId})`)],
    ['received', `${delivery.receivedAt} (${ago(delivery.receivedAt, now)})`],
    ['route', receipt.route],
    ['work', domain.workKey === null ? null : `${domain.workKey} at ${domain.inputVersion ?? 'no version'}`],
    [
      'run',
      execution.runId === null ? null : `${execution.runId}${receipt.existing ? ' (was there before)' : ''}`,
    ],
    ['task', execution.taskId],
    [
      'attempt',
      execution.attempt === null ? null : `${execution.attempt}, fencing token ${execution.fencingToken}`,
    ],
    ['again at', receipt.retryAfter],
    ['narrowed by', domain.repositoryConfig === null ? null : `.headgate.yaml ${domain.repositoryConfig}`],
    ['follows', receipt.parentReceiptId],
    ['replayed by', receipt.replayedBy],
    ...receipt.mutations.map((it): [string, string] => [
      'did',
      `${it.status}: ${it.externalId ?? it.operationKey}`,
    ]),
    ['trace', receipt.traceId],
  ];
  return [
    `${outcomeWord(receipt.outcome, colors)}  ${colors.bold(receipt.reasonCode)}  ${receipt.message}`,
    `${receipt.id}${receipt.kind === 'closing' ? '  (closing)' : ''}`,
    '',
    pairs(
      terminal,
      facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
    ),
  ].join('\n');
}
