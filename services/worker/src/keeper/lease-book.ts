/**
 * What the keeper knows of each lease it keeps: until when it is trusted, and which sandbox goes with it. Pure: time
 * is given, what follows is returned.
 *
 *   hold ─► trusted ─renewed─► trusted …
 *              │ expired ─► suspended ─renewed─► trusted       (asked again every second)
 *              │ lost ─► ended                                  at once
 *              └─ the window passed without a renewal ─► ended  (trust-lost)
 *
 * An ended lease never comes back: its work is taken up by another attempt. It is remembered until it is dropped, so
 * that a sandbox which starts just then is killed too.
 */
import type { LeaseTiming } from '@headgate/domain';
import type { SandboxIdentity } from '@headgate/runtimes';
import type { BeatAnswer, Fence, LeaseControl } from '@headgate/store';
import { trustWindowMs } from './lease-timing.js';
import type { LeaseEnd, LeaseNews } from './messages.js';

/** A lease that another transaction held, or that has expired, is asked about again so soon. */
const ASK_AGAIN_MS = 1_000;

interface Entry {
  readonly fence: Fence;
  trustedUntilMs: number;
  askAgainAtMs: number | null;
  suspended: boolean;
  /** Renewed no more. */
  runsOut: boolean;
  ended: LeaseEnd | null;
  sandbox: SandboxIdentity | null;
}

export interface BookEvents {
  readonly news: readonly LeaseNews[];
  /** Sandboxes that have to end now. */
  readonly kill: readonly SandboxIdentity[];
}

const NOTHING: BookEvents = { news: [], kill: [] };

export class LeaseBook {
  #timing: LeaseTiming;
  readonly #entries = new Map<string, Entry>();

  constructor(timing: LeaseTiming) {
    this.#timing = timing;
  }

  set timing(timing: LeaseTiming) {
    this.#timing = timing;
  }

  hold(fence: Fence, trustedUntilMs: number): void {
    this.#entries.set(fence.leaseId, {
      fence,
      trustedUntilMs,
      askAgainAtMs: null,
      suspended: false,
      runsOut: false,
      ended: null,
      sandbox: null,
    });
  }

  drop(leaseId: string): void {
    this.#entries.delete(leaseId);
  }

  letRunOut(leaseId: string): void {
    const entry = this.#entries.get(leaseId);
    if (entry !== undefined) entry.runsOut = true;
  }

  /** A sandbox of a lease that has ended, or that nobody knows, must not run. */
  sandbox(leaseId: string, identity: SandboxIdentity | null): BookEvents {
    const entry = this.#entries.get(leaseId);
    if (entry !== undefined) entry.sandbox = identity;
    const mayRun = entry !== undefined && entry.ended === null;
    return identity === null || mayRun ? NOTHING : { news: [], kill: [identity] };
  }

  /** The leases to ask about: all of them, or only those whose second is over. */
  due(nowMs: number, all: boolean): readonly Fence[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.ended === null && !entry.runsOut)
      .filter((entry) => all || (entry.askAgainAtMs !== null && entry.askAgainAtMs <= nowMs))
      .map((entry) => entry.fence);
  }

  /** They are being asked about. */
  asked(fences: readonly Fence[]): void {
    for (const { leaseId } of fences) {
      const entry = this.#entries.get(leaseId);
      if (entry !== undefined) entry.askAgainAtMs = null;
    }
  }

  /** Nobody answered. */
  unanswered(fences: readonly Fence[], nowMs: number): void {
    for (const { leaseId } of fences) this.#askAgain(this.#entries.get(leaseId), nowMs);
  }

  /** @param sentAtMs when the renewal was about to be sent; trust counts from there. */
  answered(
    leaseId: string,
    sentAtMs: number,
    nowMs: number,
    answer: BeatAnswer,
    control: LeaseControl | null,
  ): BookEvents {
    const entry = this.#entries.get(leaseId);
    if (entry === undefined || entry.ended !== null) return NOTHING;
    switch (answer) {
      case 'renewed':
      case 'control': {
        const trusted = entry.runsOut ? NOTHING : this.#renew(entry, sentAtMs);
        return control === null ? trusted : withControl(entry, trusted, control);
      }
      case 'busy':
        this.#askAgain(entry, nowMs);
        return NOTHING;
      case 'expired':
        entry.suspended = true;
        this.#askAgain(entry, nowMs);
        return { news: [{ kind: 'suspended', leaseId }], kill: [] };
      case 'lost':
        return end(entry, 'lost');
    }
  }

  /** Ends what is no longer trusted. */
  lapse(nowMs: number): BookEvents {
    const ended = [...this.#entries.values()]
      .filter((entry) => entry.ended === null && entry.trustedUntilMs <= nowMs)
      .map((entry) => end(entry, 'trust-lost'));
    return { news: ended.flatMap((one) => one.news), kill: ended.flatMap((one) => one.kill) };
  }

  /** When something next happens by itself; null: nothing. */
  nextMs(): number | null {
    const instants = [...this.#entries.values()]
      .filter((entry) => entry.ended === null)
      .flatMap((entry) => [entry.trustedUntilMs, entry.askAgainAtMs ?? Number.POSITIVE_INFINITY]);
    return instants.length === 0 ? null : Math.min(...instants);
  }

  fence(leaseId: string): Fence | null {
    return this.#entries.get(leaseId)?.fence ?? null;
  }

  #renew(entry: Entry, sentAtMs: number): BookEvents {
    entry.suspended = false;
    // Two renewals may be under way: the older answer never takes back what the newer gave.
    entry.trustedUntilMs = Math.max(entry.trustedUntilMs, sentAtMs + trustWindowMs(this.#timing));
    const { leaseId } = entry.fence;
    return { news: [{ kind: 'renewed', leaseId, trustedUntilMs: entry.trustedUntilMs }], kill: [] };
  }

  #askAgain(entry: Entry | undefined, nowMs: number): void {
    if (entry !== undefined) entry.askAgainAtMs = nowMs + Math.min(ASK_AGAIN_MS, this.#timing.heartbeatMs);
  }
}

/** A cancelled agent has nothing left to do: its sandbox ends at once, also when the main loop is blocked. */
function withControl(entry: Entry, events: BookEvents, control: LeaseControl): BookEvents {
  const { leaseId } = entry.fence;
  const isKilled = control !== 'drain' && entry.sandbox !== null;
  return {
    news: [...events.news, { kind: 'control', leaseId, control }],
    kill: isKilled && entry.sandbox !== null ? [entry.sandbox] : [],
  };
}

function end(entry: Entry, why: LeaseEnd): BookEvents {
  entry.ended = why;
  const { leaseId, runId } = entry.fence;
  return {
    news: [{ kind: 'ended', leaseId, runId, why }],
    kill: entry.sandbox === null ? [] : [entry.sandbox],
  };
}
