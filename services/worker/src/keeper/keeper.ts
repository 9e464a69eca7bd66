/**
 * The main thread's side of the lease keeper: it hands leases over, and passes on what the thread says.
 *
 *   main: hold, drop, sandbox ──► thread: beats, kills ──► news ──► HeldLease (trust, stop reason)
 *   main: turns ─(shared memory)─► thread: renews only while they come
 *
 * Who writes: this side touches no row. The thread is made anew if it dies; it is then told of every lease that is
 * held, with the trust that is left. While there is none, each HeldLease ends its own trust by its own timer.
 */
import { Worker } from 'node:worker_threads';
import type { Clock, LeaseTiming, WorkerId } from '@headgate/domain';
import type { SandboxIdentity } from '@headgate/runtimes';
import type { Fence } from '@headgate/store';
import { type Logger, metrics, testSignal } from '@headgate/telemetry';
import { HeldLease } from './held-lease.js';
import { assertLeaseTiming, trustWindowMs } from './lease-timing.js';
import type { FromKeeper, KeeperData, LeaseNews, ToKeeper } from './messages.js';
import { keeperThreadEntry } from './thread-entry.js';

export interface KeeperParts {
  readonly serviceUrl: string;
  readonly poolMode: 'session' | 'transaction';
  readonly clock: Clock;
  readonly logger: Logger;
  /** After each answered beat: how the worker's own row stands. */
  readonly onWorkerState: (workerId: WorkerId, state: string) => void;
  /** The thread's program; asked at each start. Default: the built one. */
  readonly threadEntry?: () => string;
}

/** How often the main loop shows that it turns, per heartbeat. */
const TURNS_PER_BEAT = 4;
const RESTART_MS = 200;
const SYNC_MS = 1_000;
const END_MS = 1_000;

interface Held {
  readonly lease: HeldLease;
  sandbox: SandboxIdentity | null;
  runsOut: boolean;
}

export class LeaseKeeper {
  readonly #parts: KeeperParts;
  readonly #held = new Map<string, Held>();
  readonly #mainTurn = new SharedArrayBuffer(8);
  readonly #syncs = new Map<number, () => void>();
  #timing: LeaseTiming;
  #thread: Worker | null = null;
  #turns: NodeJS.Timeout | null = null;
  #workerId: WorkerId | null = null;
  #nextSync = 1;
  #isReady = false;
  #onReady: (() => void)[] = [];
  #isStopped = false;
  /** Leases taken and let go of in this turn of the event loop: told together, or before anything else is. */
  #untold: ToKeeper[] = [];

  /** Throws LeaseTimingError. */
  constructor(parts: KeeperParts, timing: LeaseTiming) {
    assertLeaseTiming(timing);
    this.#parts = parts;
    this.#timing = timing;
  }

  get timing(): LeaseTiming {
    return this.#timing;
  }

  start(): void {
    if (this.#thread !== null || this.#isStopped) return;
    this.#keepTurning();
    this.#startThread();
  }

  /** Whether leases taken now would be renewed: the thread needs a moment to start, and to be replaced. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Resolves when the thread keeps leases, or never will. */
  ready(): Promise<void> {
    if (this.#isReady || this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => this.#onReady.push(resolve));
  }

  /** Throws LeaseTimingError; the old timing then stays. */
  setTiming(timing: LeaseTiming): void {
    assertLeaseTiming(timing);
    this.#timing = timing;
    this.#keepTurning();
    this.#tell({ kind: 'timing', timing });
  }

  /** Whose row the heartbeat touches; null: nobody's. */
  setWorker(workerId: WorkerId | null): void {
    this.#workerId = workerId;
    this.#tell({ kind: 'worker', workerId });
  }

  /** @param askedAtMs monotonic, before the claim was sent: trust counts from there. */
  hold(fence: Fence, askedAtMs: number): HeldLease {
    const trustedUntilMs = askedAtMs + trustWindowMs(this.#timing);
    const lease = new HeldLease(fence, trustedUntilMs, this.#parts.clock);
    this.#held.set(fence.leaseId, { lease, sandbox: null, runsOut: false });
    this.#tellSoon({ kind: 'hold', fence, trustedUntilMs });
    return lease;
  }

  release(lease: HeldLease): void {
    this.#held.delete(lease.fence.leaseId);
    lease.close();
    this.#tellSoon({ kind: 'drop', leaseId: lease.fence.leaseId });
  }

  /** The sandbox that ends with the lease; null: it has ended. */
  sandbox(lease: HeldLease, identity: SandboxIdentity | null): void {
    const held = this.#held.get(lease.fence.leaseId);
    if (held !== undefined) held.sandbox = identity;
    this.#tell({ kind: 'sandbox', leaseId: lease.fence.leaseId, identity });
  }

  /** Renews it no more. */
  letRunOut(lease: HeldLease): void {
    const held = this.#held.get(lease.fence.leaseId);
    if (held !== undefined) held.runsOut = true;
    this.#tell({ kind: 'let-run-out', leaseId: lease.fence.leaseId });
  }

  beatNow(): void {
    this.#tell({ kind: 'beat-now' });
  }

  /** All leases are somebody else's now. */
  loseAll(): void {
    for (const { lease } of this.#held.values()) lease.end('lost');
  }

  /** Resolves when everything the thread has said so far was heard; bounded. */
  sync(): Promise<void> {
    if (this.#thread === null) return Promise.resolve();
    const id = this.#nextSync;
    this.#nextSync += 1;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#syncs.delete(id);
        resolve();
      };
      const timer = setTimeout(done, SYNC_MS);
      this.#syncs.set(id, done);
      this.#tell({ kind: 'sync', id });
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const resolve of this.#onReady.splice(0)) resolve();
    if (this.#turns !== null) clearInterval(this.#turns);
    const thread = this.#thread;
    this.#thread = null;
    if (thread === null) return;
    thread.postMessage([{ kind: 'stop' }] satisfies ToKeeper[]);
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([
      new Promise((resolve) => thread.once('exit', resolve)),
      new Promise((resolve) => {
        timer = setTimeout(resolve, END_MS);
      }),
    ]);
    clearTimeout(timer);
    await thread.terminate();
  }

  #keepTurning(): void {
    const turns = new BigInt64Array(this.#mainTurn);
    const turn = (): void => {
      Atomics.store(turns, 0, BigInt(Math.round(this.#parts.clock.monotonicMs() * 1e6)));
    };
    turn();
    if (this.#turns !== null) clearInterval(this.#turns);
    this.#turns = setInterval(turn, Math.max(5, Math.floor(this.#timing.heartbeatMs / TURNS_PER_BEAT)));
    this.#turns.unref();
  }

  #startThread(): void {
    const workerData: KeeperData = {
      serviceUrl: this.#parts.serviceUrl,
      poolMode: this.#parts.poolMode,
      timing: this.#timing,
      mainTurn: this.#mainTurn,
    };
    // Our own loaders and conditions are the main thread's business: the thread runs what is built.
    const thread = new Worker((this.#parts.threadEntry ?? keeperThreadEntry)(), { workerData, execArgv: [] });
    this.#thread = thread;
    thread.on('message', (message: FromKeeper) => this.#hear(message));
    thread.on('error', (fault) => this.#parts.logger.error({ err: fault }, 'the lease keeper failed'));
    thread.on('exit', (code) => this.#ended(thread, code));
    thread.unref();
    this.#tell({ kind: 'worker', workerId: this.#workerId });
    for (const { lease, sandbox, runsOut } of this.#held.values()) {
      const { fence } = lease;
      if (lease.isGone) continue;
      const trustedUntilMs = this.#parts.clock.monotonicMs() + lease.trustedForMs;
      this.#tell({ kind: 'hold', fence, trustedUntilMs });
      if (sandbox !== null) this.#tell({ kind: 'sandbox', leaseId: fence.leaseId, identity: sandbox });
      if (runsOut) this.#tell({ kind: 'let-run-out', leaseId: fence.leaseId });
    }
  }

  #ended(thread: Worker, code: number): void {
    if (this.#isStopped || this.#thread !== thread) return;
    this.#thread = null;
    this.#isReady = false;
    this.#parts.logger.error({ code, leases: this.#held.size }, 'the lease keeper ended; starting another');
    setTimeout(() => {
      if (!this.#isStopped) this.#startThread();
    }, RESTART_MS).unref();
  }

  /** A message to another thread costs as much as a small query, and a busy worker has hundreds a second. */
  #tellSoon(message: ToKeeper): void {
    if (this.#untold.push(message) === 1) setImmediate(() => this.#post());
  }

  #tell(message: ToKeeper): void {
    this.#untold.push(message);
    this.#post();
  }

  #post(): void {
    if (this.#untold.length === 0) return;
    this.#thread?.postMessage(this.#untold);
    this.#untold = [];
  }

  #hear(message: FromKeeper): void {
    switch (message.kind) {
      case 'ready':
        this.#isReady = true;
        for (const resolve of this.#onReady.splice(0)) resolve();
        return;
      case 'news':
        for (const news of message.news) this.#pass(news);
        return;
      case 'beat': {
        for (const [answer, count] of Object.entries(message.answers)) {
          if (count > 0) metrics.leaseRenewals.add(count, { answer: answer as keyof typeof message.answers });
        }
        const { workerId, workerState, fault } = message;
        if (fault !== null) this.#parts.logger.warn({ fault }, 'a heartbeat had no answer');
        testSignal('worker.beat', { workerId, workerState, answers: message.answers, fault });
        if (workerId !== null && workerState !== null) this.#parts.onWorkerState(workerId, workerState);
        return;
      }
      case 'main-silent':
        this.#parts.logger.error(
          { silentMs: Math.round(message.silentMs) },
          'the main loop was blocked for two heartbeats: leases were not renewed meanwhile',
        );
        return;
      case 'synced':
        this.#syncs.get(message.id)?.();
        return;
    }
  }

  #pass(news: LeaseNews): void {
    const lease = this.#held.get(news.leaseId)?.lease;
    if (lease === undefined) return;
    switch (news.kind) {
      case 'renewed':
        lease.renewed(news.trustedUntilMs);
        return;
      case 'suspended':
        lease.suspend();
        return;
      case 'control':
        lease.control(news.control);
        return;
      case 'ended':
        lease.end(news.why);
        return;
    }
  }
}
