/**
 * A lease as the code that works under it sees it: may I go on, and if not, why.
 *
 * Judged by the monotonic clock at the moment of asking, not by events: a process that was stopped and goes on again
 * sees at its first question that its time is over, whatever messages still wait for it.
 */
import type { Clock } from '@headgate/domain';
import type { Fence, LeaseControl } from '@headgate/store';
import type { Logger } from '@headgate/telemetry';
import type { LeaseEnd } from './messages.js';

/** Why the work has to stop. The right to act is gone with `lost` and `trust-lost`; the others still may finish. */
export type StopReason =
  | { readonly kind: 'gone'; readonly why: LeaseEnd }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'hand-back' };

export class HeldLease {
  readonly fence: Fence;
  /** Names its run on every line about it; null until its attempt begins. */
  logger: Logger | null = null;
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  readonly #going = new AbortController();
  readonly #waiting = new Set<() => void>();
  #trustedUntilMs: number;
  #suspended = false;
  #stop: StopReason | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** The finish has been sent: that the lease is found gone may be its own doing. */
  #isFinishing = false;

  constructor(fence: Fence, trustedUntilMs: number, clock: Clock) {
    this.fence = fence;
    this.#clock = clock;
    this.#trustedUntilMs = trustedUntilMs;
    this.#watch();
  }

  /** Aborts when the work has to stop, whatever the reason. */
  get stopSignal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Aborts when the right to act is gone: only then is an effect in flight cut off. */
  get goneSignal(): AbortSignal {
    return this.#going.signal;
  }

  /** Null: go on. */
  get stop(): StopReason | null {
    if (this.#stop?.kind !== 'gone' && this.#clock.monotonicMs() >= this.#trustedUntilMs) {
      this.end('trust-lost');
    }
    return this.#stop;
  }

  get isGone(): boolean {
    return this.stop?.kind === 'gone';
  }

  get trustedForMs(): number {
    return Math.max(0, this.#trustedUntilMs - this.#clock.monotonicMs());
  }

  /** Resolves once something may start again, or has to stop. */
  async settled(): Promise<StopReason | null> {
    while (this.#suspended && this.stop === null) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
    return this.stop;
  }

  renewed(trustedUntilMs: number): void {
    // Checked first: an answer that waited while this thread was stopped does not bring back what has lapsed.
    if (this.isGone) return;
    this.#trustedUntilMs = Math.max(this.#trustedUntilMs, trustedUntilMs);
    this.#suspended = false;
    this.#watch();
    this.#wake();
  }

  suspend(): void {
    this.#suspended = true;
  }

  control(control: LeaseControl): void {
    this.#stopWith(control === 'drain' ? { kind: 'hand-back' } : { kind: 'cancel' });
  }

  handBack(): void {
    this.#stopWith({ kind: 'hand-back' });
  }

  /** The finish goes out: from here its answer decides what became of the lease. */
  finishing(): void {
    this.#isFinishing = true;
  }

  end(why: LeaseEnd): void {
    if (this.#stop?.kind === 'gone') return;
    if (this.#isFinishing && why === 'lost') return;
    this.#stop = { kind: 'gone', why };
    this.#stopping.abort();
    this.#going.abort();
    this.close();
  }

  /** Nobody needs it any more. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#wake();
  }

  /** A cancel outweighs a hand-back; nothing outweighs a lease that is gone. */
  #stopWith(reason: StopReason): void {
    const stands = this.stop;
    if (stands === null || (stands.kind === 'hand-back' && reason.kind === 'cancel')) this.#stop = reason;
    this.#stopping.abort();
    this.#wake();
  }

  #watch(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const leftMs = this.#trustedUntilMs - this.#clock.monotonicMs();
    this.#timer = setTimeout(
      () => {
        if (this.stop?.kind !== 'gone') this.#watch();
      },
      Math.max(leftMs, 1),
    );
    this.#timer.unref();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
