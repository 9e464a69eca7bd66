/** `headgate approvals`: what people are asked about runs, and what they have said. The word itself is said of the run. */
import type { ApprovalQuery, ListedApproval } from '@headgate/sdk';
import { type Command, Option } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { clientOf, findInstance } from '../instance/find.js';
import { table } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { ago } from '../terminal/words.js';
import type { CommandContext } from './command.js';
import { given, positiveInteger } from './options.js';

const MAX_PAGE = 200;
const DEFAULT_PAGE = 20;

/** The words that answer it. */
const ANSWERS: Readonly<Record<ListedApproval['subject'], string>> = {
  proposal: 'publish or discard',
  admission: 'approve or decline',
};

interface ApprovalsOptions {
  readonly state: 'open' | 'answered' | 'all';
  readonly limit: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

export function addApprovals(program: Command, context: CommandContext): void {
  program
    .command('approvals')
    .description('what waits for a person’s word, and what was said')
    .addOption(new Option('--state <state>').choices(['open', 'answered', 'all']).default('open'))
    .option('--limit <n>', 'at most so many', positiveInteger(MAX_PAGE), DEFAULT_PAGE)
    .option('--cursor <cursor>', 'where the page before ended')
    .option('--json', 'one JSON document')
    .action(async (_options: unknown, command: Command) =>
      context.exit(await list(command.optsWithGlobals<ApprovalsOptions>(), context)),
    );
}

async function list(options: ApprovalsOptions, context: CommandContext): Promise<ExitCode> {
  const { state, limit, cursor, json } = options;
  const { terminal, now } = context;
  const query: ApprovalQuery = { limit, ...(state === 'all' ? {} : { open: state === 'open' }) };
  const page = await clientOf(findInstance(context)).approvals.page({ ...query, ...given({ cursor }) });
  if (json === true) terminal.out(JSON.stringify(page));
  else if (page.items.length === 0) {
    terminal.out(state === 'open' ? 'Nothing waits for a person.' : 'Nobody was asked yet.');
  } else {
    terminal.out(approvalTable(page.items, terminal, now()));
    if (page.nextCursor !== null) terminal.note(`More: --cursor ${page.nextCursor}`);
    if (page.items.some(({ outcome }) => outcome === null)) {
      terminal.note(
        'Read it first (headgate runs show RUN), then headgate runs publish|discard|approve|decline RUN',
      );
    }
  }
  return EXIT.done;
}

function approvalTable(requests: readonly ListedApproval[], terminal: Terminal, now: Date): string {
  return table(
    terminal,
    ['state', 'run', 'route', 'work', 'asked', 'answer'],
    requests.map((it) => [
      it.outcome ?? 'open',
      it.runId,
      it.route,
      it.workKey,
      `${ago(it.requestedAt, now)}${it.requester === null ? '' : ` by ${it.requester}`}`,
      it.outcome === null
        ? `${ANSWERS[it.subject]}, expires ${ago(it.expiresAt, now)}`
        : `${ago(it.decidedAt, now)}${it.decidedBy === null ? '' : ` by ${it.decidedBy}`}`,
    ]),
  );
}
