/**
 * What happens while `up` runs, one line each.
 *
 * It only reads. Each look goes some seconds back, since a row can commit after a later one, and leaves out what was
 * shown. What repeats itself (a schedule that finds its work done) is said once.
 */

import { formatId } from '@headgate/domain';
import { Loop, type ServiceContext } from '@headgate/service';
import { type Activity, activity } from '@headgate/store';
import type { Colors, Terminal } from '../terminal/terminal.js';
import { timeOfDay } from '../terminal/words.js';

const LOOK_EVERY_MS = 1_000;
/** Longer than a transaction of ours lasts. */
const OVERLAP_MS = 10_000;
const LIMIT = 500;

export class Feed {
  readonly #context: ServiceContext;
  readonly #terminal: Terminal;
  readonly #loop: Loop;
  /** What was shown, and when: forgotten once no look can bring it again. */
  readonly #shown = new Map<string, number>();
  readonly #saidOnce = new Set<string>();
  #fromMs: number;

  constructor(context: ServiceContext, terminal: Terminal) {
    this.#context = context;
    this.#terminal = terminal;
    this.#fromMs = context.clock.now().getTime();
    this.#loop = new Loop({
      name: 'feed',
      periodMs: LOOK_EVERY_MS,
      maxPauseMs: 10_000,
      logger: context.logger,
      tick: async () => {
        await this.#look();
        return 'idle';
      },
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop(1_000);
  }

  async #look(): Promise<void> {
    const nowMs = this.#context.clock.now().getTime();
    const from = smallestIdAt(Math.max(this.#fromMs, nowMs - OVERLAP_MS));
    const found = await this.#context.database.service.use((c) => activity.since(c, from, LIMIT));
    const fresh = found.filter(({ id }) => !this.#shown.has(id));
    for (const { id, at } of fresh) this.#shown.set(id, at.getTime());
    for (const { entry, times } of alikeTogether(fresh)) {
      const line = this.#lineOf(entry, times);
      if (line !== null) this.#terminal.out(line);
    }
    for (const [id, atMs] of this.#shown) if (atMs < nowMs - 3 * OVERLAP_MS) this.#shown.delete(id);
  }

  #lineOf(entry: Activity, times: number): string | null {
    const { colors } = this.#terminal;
    if (entry.kind === 'step') return stepLine(entry, colors);
    if (entry.trigger === 'schedule' && entry.outcome !== 'accept') {
      const same = `${entry.route}/${entry.reasonCode}/${entry.runId}`;
      if (this.#saidOnce.has(same)) return null;
      this.#saidOnce.add(same);
    }
    return decisionLine(entry, times, colors);
  }
}

/** Decisions that say the same, counted where the first of them stands: twenty duplicates are one line. */
function alikeTogether(entries: readonly Activity[]): readonly { entry: Activity; times: number }[] {
  const lines: { entry: Activity; times: number }[] = [];
  const alike = new Map<string, { entry: Activity; times: number }>();
  for (const entry of entries) {
    const key =
      entry.kind === 'step' ? entry.id : `${entry.type}/${entry.reasonCode}/${entry.route}/${entry.runId}`;
    const known = alike.get(key);
    if (known !== undefined) {
      known.times += 1;
      continue;
    }
    const line = { entry, times: 1 };
    alike.set(key, line);
    lines.push(line);
  }
  return lines;
}

/** `14:03:11  receipt    github.check_run.completed → ADMITTED  fix-failing-check  run_…` */
export function decisionLine(
  entry: Extract<Activity, { kind: 'decision' }>,
  times: number,
  colors: Colors,
): string {
  const paint =
    entry.outcome === 'accept' ? colors.green : entry.outcome === 'defer' ? colors.yellow : colors.dim;
  const run = entry.runId === null ? '' : formatId('run', entry.runId);
  return line(
    entry.at,
    'receipt',
    colors,
    `${entry.type} → ${paint(entry.reasonCode)}${times === 1 ? '' : ` × ${times}`}`,
    entry.route,
    run,
  );
}

/** Only the steps that a person waits for; the others are in `headgate runs show`. */
export function stepLine(entry: Extract<Activity, { kind: 'step' }>, colors: Colors): string | null {
  const run = formatId('run', entry.runId);
  const say = (word: string, what: string): string => line(entry.at, word, colors, what, entry.route, run);
  switch (entry.status) {
    case 'CLAIMED':
      return say('started', entry.attempt === null ? 'an attempt' : `attempt ${entry.attempt}`);
    case 'SUCCEEDED':
      return say(
        'finished',
        `${colors.green('succeeded')}${entry.branch === null ? '' : `, pushed ${colors.bold(entry.branch)}`}`,
      );
    case 'FAILED':
    case 'POLICY_DENIED':
      return say('finished', `${colors.red('failed')} ${entry.reasonCode ?? ''}`);
    case 'NO_WORK':
    case 'SUPERSEDED':
    case 'EXPIRED':
    case 'CANCELLED':
      return say('finished', `${entry.status.toLowerCase().replace('_', ' ')} ${entry.reasonCode ?? ''}`);
    case 'FAILED_RETRYABLE':
      return say('lost', `${colors.yellow(entry.reasonCode ?? 'an attempt failed')}, will be tried again`);
    case 'WAITING_APPROVAL':
      return say('waits', `for a person: ${colors.bold(`headgate runs show ${run}`)}`);
    default:
      return null;
  }
}

const WORD_WIDTH = 9;

function line(
  at: Date,
  word: string,
  colors: Colors,
  what: string,
  route: string | null,
  run: string,
): string {
  return [colors.dim(timeOfDay(at)), word.padEnd(WORD_WIDTH), what, route ?? '', colors.dim(run)]
    .filter((part) => part !== '')
    .join('  ');
}

/** Every UUIDv7 made from that instant on is at least this one. */
const smallestIdAt = (ms: number): string => {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
};
