/**
 * The keeper's loop: one heartbeat statement per beat for all leases of the worker, on sessions of its own.
 *
 * It runs in a thread, not in a process: a keeper that outlived its worker would renew for the dead. And it renews
 * only while the main loop turns: silent for two beats, the worker cannot stop its side effects either, so its
 * leases are left to run out.
 *
 * Who writes: this loop alone extends leases (`leases.beat`: skips what is locked, compares with the database's clock
 * under the row lock) and touches the worker's heartbeat. It holds no lock over two statements. Several beats may be
 * under way (a slow answer does not stop the next): each is trusted from its own sending.
 * What a crash leaves: of the thread alone, leases that run out unless a new thread takes them over within the trust
 * window; of the process, leases that the reaper takes.
 */
import type { Clock, LeaseTiming, WorkerId } from '@headgate/domain';
import type { SandboxIdentity } from '@headgate/runtimes';
import type { BeatAnswer, BeatResult, Fence } from '@headgate/store';
import type { BookEvents, LeaseBook } from './lease-book.js';
import type { FromKeeper, LeaseNews } from './messages.js';

/** Beats under way at once: one that hangs must not stop the next, many would only queue. */
const MAX_IN_FLIGHT = 2;
/** A beat that failed is tried again so soon. */
const RETRY_MS = 1_000;
const SILENT_BEATS = 2;

export interface BeatLoopParts {
  readonly clock: Clock;
  readonly book: LeaseBook;
  /** Renews on a session of the keeper's own; bounded in time. */
  readonly beat: (fences: readonly Fence[], workerId: WorkerId, ttlMs: number) => Promise<BeatResult>;
  /** When the main loop last turned, monotonic. */
  readonly mainTurnMs: () => number;
  readonly kill: (identity: SandboxIdentity) => void;
  readonly tell: (message: FromKeeper) => void;
  /** A lease ended by itself: for the history. */
  readonly onLapse: (fence: Fence) => void;
}

export class BeatLoop {
  readonly #parts: BeatLoopParts;
  #timing: LeaseTiming;
  #workerId: WorkerId | null = null;
  #nextBeatMs = 0;
  #inFlight = 0;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;
  #toldSilent = false;

  constructor(parts: BeatLoopParts, timing: LeaseTiming) {
    this.#parts = parts;
    this.#timing = timing;
  }

  set timing(timing: LeaseTiming) {
    this.#timing = timing;
    this.#parts.book.timing = timing;
    this.beatNow();
  }

  set workerId(workerId: WorkerId | null) {
    this.#workerId = workerId;
    this.beatNow();
  }

  beatNow(): void {
    this.#nextBeatMs = 0;
    this.turn();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** One look: what has lapsed, what is due. Sets the time of the next. */
  turn(): void {
    if (this.#isStopped) return;
    const { clock, book } = this.#parts;
    const nowMs = clock.monotonicMs();
    this.happened(book.lapse(nowMs));
    if (this.#isMainSilent(nowMs)) this.#nextBeatMs = Math.max(this.#nextBeatMs, nowMs + RETRY_MS / 4);
    else if (this.#inFlight < MAX_IN_FLIGHT) {
      const isBeat = this.#nextBeatMs <= nowMs;
      const due = book.due(nowMs, isBeat);
      if (isBeat) this.#nextBeatMs = nowMs + this.#timing.heartbeatMs;
      if (isBeat || due.length > 0) void this.#beat(due, nowMs);
    }
    this.#schedule(clock.monotonicMs());
  }

  /** Does what the book says: tells the main thread first, for it may do the same more gently, then kills. */
  happened(events: BookEvents): void {
    if (events.news.length > 0) this.#parts.tell({ kind: 'news', news: events.news });
    for (const identity of events.kill) this.#parts.kill(identity);
    for (const news of events.news) {
      if (news.kind !== 'ended' || news.why !== 'trust-lost') continue;
      const fence = this.#parts.book.fence(news.leaseId);
      if (fence !== null) this.#parts.onLapse(fence);
    }
  }

  #isMainSilent(nowMs: number): boolean {
    const silentMs = nowMs - this.#parts.mainTurnMs();
    const isSilent = silentMs > SILENT_BEATS * this.#timing.heartbeatMs;
    if (isSilent && !this.#toldSilent) this.#parts.tell({ kind: 'main-silent', silentMs });
    this.#toldSilent = isSilent;
    return isSilent;
  }

  async #beat(fences: readonly Fence[], sentAtMs: number): Promise<void> {
    const { clock, book, beat, tell } = this.#parts;
    const workerId = this.#workerId;
    if (workerId === null) return;
    this.#inFlight += 1;
    book.asked(fences);
    try {
      const result = await beat(fences, workerId, this.#timing.ttlMs);
      const nowMs = clock.monotonicMs();
      const answers: Partial<Record<BeatAnswer, number>> = {};
      const news: LeaseNews[] = [];
      const kill: SandboxIdentity[] = [];
      for (const { runId, leaseId } of fences) {
        const { answer, control } = result.leases.get(runId) ?? { answer: 'lost', control: null };
        answers[answer] = (answers[answer] ?? 0) + 1;
        const events = book.answered(leaseId, sentAtMs, nowMs, answer, control);
        news.push(...events.news);
        kill.push(...events.kill);
      }
      this.happened({ news, kill });
      const { workerState } = result;
      tell({ kind: 'beat', answers, workerState, workerId, tookMs: nowMs - sentAtMs, fault: null });
    } catch (fault) {
      const nowMs = clock.monotonicMs();
      book.unanswered(fences, nowMs);
      this.#nextBeatMs = Math.min(this.#nextBeatMs, nowMs + RETRY_MS);
      const answers = { error: fences.length };
      tell({
        kind: 'beat',
        answers,
        workerState: null,
        workerId,
        tookMs: nowMs - sentAtMs,
        fault: String(fault),
      });
    } finally {
      this.#inFlight -= 1;
      this.turn();
    }
  }

  #schedule(nowMs: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#isStopped) return;
    const wakesMs = this.#parts.book.nextMs() ?? Number.POSITIVE_INFINITY;
    const atMs = Math.min(this.#nextBeatMs, wakesMs);
    // While beats are under way a due one waits for the answer, which turns the loop again.
    const pauseMs = this.#inFlight < MAX_IN_FLIGHT ? Math.max(atMs - nowMs, 1) : Math.max(atMs - nowMs, 50);
    this.#timer = setTimeout(() => this.turn(), Math.min(pauseMs, this.#timing.heartbeatMs));
  }
}
