/**
 * The worker: claims what it can run, runs it under a lease that it keeps, hands it in, and goes in order.
 *
 *   hints, polling ─► claim desk ─► lease (keeper thread) ─► execute ─► finisher
 *                         ▲                                               │
 *                         └──── refill: dispatches into the free slot ◄───┘
 *
 *   new ─► running ─► draining ─► drained ─► stopped     forward only, each step at most once
 *
 * Who writes what: registration its row; the desk verdicts and claims; the keeper leases; each attempt its own run.
 * The parts meet in memory only: the map of active runs, changed on this thread between awaits. A crash leaves rows
 * that run out by themselves; a worker whose row has ended drops what it holds and begins again under a new id.
 */
import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { formatId, type RunId, type WorkerId } from '@headgate/domain';
import { CommandRuntime, probeCapabilities, sweepWorkspaces } from '@headgate/runtimes';
import { Loop, type Service, type ServiceContext, type TickResult } from '@headgate/service';
import { AuthoritativeReader } from '@headgate/sources';
import type { ActivePolicy } from '@headgate/store';
import { type Logger, metrics, testSignal } from '@headgate/telemetry';
import { ActiveRuns } from './active-runs.js';
import { ClaimDesk, type ClaimedOrder } from './hints/claim-desk.js';
import { IntakeOfHints } from './hints/intake-of-hints.js';
import { Refill } from './hints/refill.js';
import { LeaseKeeper } from './keeper/keeper.js';
import { DEFAULT_GRACE_MS, slotsFromEnvironment, WORKER_TIMING, type WorkerOptions } from './options.js';
import { Registration, sameTiming } from './registration.js';
import { execute } from './run/execute.js';
import { type Finished, Finisher } from './run/finisher.js';
import { StageWriter } from './run/stage-writer.js';
import { within } from './within.js';

type State = 'new' | 'running' | 'draining' | 'drained' | 'stopped';

/** How often a worker that could not register tries again; and, registered, whether the policy has changed. */
const REGISTER_MS = 1_000;

/**
 * Makes a worker; nothing runs before `start`. Throws a RangeError for an impossible HEADGATE_WORKER_SLOTS,
 * LeaseTimingError for a policy whose lease timing cannot work, and NoPolicyError before the first policy.
 */
export async function createWorker(context: ServiceContext, options: WorkerOptions = {}): Promise<Service> {
  const { paths } = context;
  for (const folder of [paths.workspaces, paths.mirrors, paths.artifacts]) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  }
  const found = await probeCapabilities({
    workspacesDir: paths.workspaces,
    ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
  });
  const probed = { ...found, capabilities: { ...options.offers, ...found.capabilities } };
  if (probed.sandbox.warning !== null) context.logger.warn(probed.sandbox.warning);
  return new WorkerService(context, options, probed);
}

class WorkerService implements Service {
  readonly name = 'worker';
  readonly router = null;
  readonly #context: ServiceContext;
  readonly #logger: Logger;
  readonly #timing;
  readonly #graceMs: number;
  readonly #active: ActiveRuns;
  readonly #registration: Registration;
  readonly #keeper: LeaseKeeper;
  readonly #desk: ClaimDesk;
  readonly #intake: IntakeOfHints;
  readonly #stages: StageWriter;
  readonly #finisher: Finisher;
  readonly #refill: Refill;
  readonly #registering: Loop;
  readonly #ends: (() => void)[] = [];
  #state: State = 'new';
  #adaptedTo: ActivePolicy | null = null;
  #onReady: (() => void)[] = [];
  #draining: Promise<void> | null = null;
  #stopping: Promise<void> | null = null;

  constructor(
    context: ServiceContext,
    options: WorkerOptions,
    probed: Awaited<ReturnType<typeof probeCapabilities>>,
  ) {
    this.#context = context;
    const { database, clock, ids, bus, policy, paths } = context;
    const pool = database.service;
    const timing = { ...WORKER_TIMING, ...options.timing };
    this.#timing = timing;
    const slots = options.slots ?? slotsFromEnvironment(process.env);
    this.#graceMs = options.graceMs ?? DEFAULT_GRACE_MS;
    const name = options.name ?? `${hostname()}-${process.pid}`;
    this.#logger = context.logger.child({ worker: name });
    const logger = this.#logger;
    this.#registration = new Registration(
      {
        pool,
        dimensions: context.dimensions,
        ids,
        logger,
        name,
        slots,
        queues: options.queues ?? null,
      },
      probed.capabilities,
    );
    this.#keeper = new LeaseKeeper(
      {
        serviceUrl: context.serviceUrl,
        poolMode: context.settings.dbPool,
        clock,
        logger,
        onWorkerState: (workerId, state) => this.#hearState(workerId, state),
      },
      policy.current().policy.lease,
    );
    this.#stages = new StageWriter({
      pool,
      logger,
      collectMs: timing.stageCollectMs,
      retryMs: timing.retryMs,
      onHeld: () => this.#keeper.beatNow(),
    });
    this.#finisher = new Finisher({
      pool,
      random: context.random,
      logger,
      retryMs: timing.retryMs,
    });
    // What nobody would renew is not claimed.
    const self = () =>
      this.#state === 'running' && this.#keeper.isReady ? this.#registration.current : null;
    const freeSlots = () => this.#active.freeSlots;
    this.#desk = new ClaimDesk({
      pool,
      bus,
      reader:
        options.reader ??
        new AuthoritativeReader({
          clock,
          env: process.env,
          configPath: context.settings.configPath,
          timeoutMs: timing.readTimeoutMs,
        }),
      clock,
      ids,
      logger,
      timing,
      capabilities: () => this.#registration.capabilities,
      policy: () => policy.current(),
      refreshPolicy: () => this.#adapt(),
      self,
      freeSlots,
      ttlMs: () => this.#keeper.timing.ttlMs,
      onClaimed: (orders, askedAtMs, workerId) => this.#begin(orders, askedAtMs, workerId),
      onNotReady: () => this.#keeper.beatNow(),
    });
    this.#intake = new IntakeOfHints({
      bus,
      pool,
      clock,
      logger,
      timing,
      desk: this.#desk,
      self,
      freeSlots,
      spokenFor: () => this.#refill.spokenFor,
    });
    this.#refill = new Refill({
      pool,
      bus,
      logger,
      policy: () => policy.current(),
      self,
      freeSlots: () => freeSlots() - this.#desk.deciding,
      decide: (rows) => this.#desk.decide(rows),
      onChange: () => this.#intake.slotsChanged(),
    });
    this.#registering = new Loop({
      name: 'worker.register',
      periodMs: REGISTER_MS,
      logger,
      tick: () => this.#register(),
      onFailure: () => metrics.jobFailures.add(1, { job: 'worker.register' }),
    });
    const runtime = new CommandRuntime(probed.sandbox.provider, clock);
    const parts = {
      pool,
      paths,
      ids,
      clock,
      keeper: this.#keeper,
      stages: this.#stages,
      finisher: this.#finisher,
      runtime,
      sandbox: probed.sandbox,
      timing,
      logger,
      currentPolicy: async () => (await policy.refresh()) ?? policy.current(),
      settleMs: options.settleMs ?? null,
      attempt: options.attempt ?? null,
      secrets: { env: process.env, baseDir: dirname(context.settings.configPath) },
    };
    this.#active = new ActiveRuns({
      slots,
      keeper: this.#keeper,
      execute: (order, lease, workerId) => execute({ ...parts, workerId }, order, lease),
      onSlotFreed: (run, finished) => this.#refill.slotFreed(run, isFollowed(finished)),
    });
  }

  async start(): Promise<void> {
    if (this.#state !== 'new') return;
    this.#state = 'running';
    const { bus, policy } = this.#context;
    this.#keeper.start();
    this.#ends.push(bus.onWake('cancel', ({ runId }) => this.#hearCancel(runId)));
    this.#ends.push(policy.onChange(() => this.#registering.wake()));
    this.#registering.start();
    void this.#sweep();
  }

  /** Also resolves when it was stopped before it could be ready: whoever waits must not wait for ever. */
  ready(): Promise<void> {
    const isOver = this.#state === 'drained' || this.#state === 'stopped';
    if (isOver || this.#registration.current !== null) return Promise.resolve();
    return new Promise((resolve) => this.#onReady.push(resolve));
  }

  drain(): Promise<void> {
    this.#draining ??= this.#drain(this.#graceMs);
    return this.#draining;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Registers, again after its row has ended, and follows the policy. One at a time: it is a loop's tick. */
  async #register(): Promise<TickResult> {
    if (this.#state !== 'running') return 'idle';
    const current = this.#registration.current;
    if (current === null) {
      await this.#keeper.ready();
      const active = await this.#context.policy.refresh();
      if (active === null) return 'idle';
      this.#follow(active);
      const { workerId } = await this.#registration.register(active);
      this.#adaptedTo = active;
      this.#keeper.setWorker(workerId);
      this.#intake.open();
      for (const resolve of this.#onReady.splice(0)) resolve();
      return 'idle';
    }
    if (this.#context.policy.current().version !== this.#adaptedTo?.version) await this.#adapt();
    return 'idle';
  }

  /** Takes over another policy: lease timing, queues. */
  async #adapt(): Promise<void> {
    const active = await this.#context.policy.refresh();
    if (active === null || active.version === this.#adaptedTo?.version || this.#state !== 'running') return;
    this.#follow(active);
    if (!(await this.#registration.adapt(active))) return;
    this.#adaptedTo = active;
    this.#intake.open();
    testSignal('worker.adapted', { policyVersion: active.version });
  }

  #follow(active: ActivePolicy): void {
    const { lease } = active.policy;
    if (!sameTiming(lease, this.#keeper.timing)) this.#keeper.setTiming(lease);
  }

  #begin(orders: readonly ClaimedOrder[], askedAtMs: number, workerId: WorkerId): void {
    for (const order of orders) {
      const lease = this.#active.begin(order, askedAtMs, workerId);
      // Claimed while the worker began to drain.
      if (this.#state !== 'running') lease.handBack();
    }
  }

  #hearCancel(runId: RunId): void {
    if (this.#active.has(runId)) this.#keeper.beatNow();
  }

  /** What the heartbeat found in our own row. */
  #hearState(workerId: WorkerId, state: string): void {
    if (this.#registration.current?.workerId !== workerId || this.#state !== 'running') return;
    if (state === 'UNKNOWN') {
      this.#logger.error(
        { workerId: formatId('wkr', workerId), leases: this.#active.count },
        'declared dead: dropping all, registering anew',
      );
      this.#keeper.loseAll();
      this.#registration.forget();
      this.#keeper.setWorker(null);
      this.#registering.wake();
    } else if (state === 'DRAINING') {
      this.#logger.info({ workerId: formatId('wkr', workerId) }, 'an operator drains this worker');
      void this.drain();
    }
  }

  async #drain(graceMs: number): Promise<void> {
    if (this.#state !== 'running') {
      if (this.#state === 'new') this.#state = 'drained';
      return;
    }
    this.#state = 'draining';
    this.#logger.info({ runs: this.#active.count, graceMs }, 'draining');
    const startedMs = this.#context.clock.monotonicMs();
    await Promise.all([
      this.#registering.stop(1_000),
      this.#intake.close(1_000),
      within(1_000, this.#registration.setState('DRAINING')),
    ]);
    await within(2_000, Promise.all([this.#refill.idle(), this.#desk.idle()]));
    const leftMs = graceMs - (this.#context.clock.monotonicMs() - startedMs);
    if (leftMs > 0) await within(leftMs, this.#active.allDone());
    await this.#handBack();
    await within(2_000, this.#registration.setState('STOPPED'));
    this.#state = 'drained';
    for (const resolve of this.#onReady.splice(0)) resolve();
    testSignal('worker.drained', { left: this.#active.count });
  }

  /** What did not finish in its grace goes back, seal kept. */
  async #handBack(): Promise<void> {
    this.#active.handBack();
    testSignal('worker.handedBack', { left: this.#active.count });
    const { killGraceMs, stopConfirmMs, pushGraceMs, stopWithinMs } = this.#timing;
    const boundMs = Math.min(killGraceMs + stopConfirmMs + pushGraceMs, stopWithinMs);
    await within(boundMs, this.#active.allDone());
  }

  async #stop(): Promise<void> {
    const { stopWithinMs } = this.#timing;
    // Without a drain before it, there is no grace.
    this.#draining ??= this.#drain(0);
    if (this.#state === 'draining') this.#active.handBack();
    await within(stopWithinMs, this.#draining);
    this.#state = 'stopped';
    for (const end of this.#ends.splice(0)) end();
    this.#active.lose();
    this.#finisher.stop();
    await within(1_000, this.#active.allDone());
    await this.#keeper.stop();
    for (const resolve of this.#onReady.splice(0)) resolve();
    testSignal('worker.stopped', {});
  }

  async #sweep(): Promise<void> {
    const { paths, clock } = this.#context;
    try {
      const swept = await sweepWorkspaces({
        workspacesDir: paths.workspaces,
        olderThanMs: this.#timing.sweepOlderThanMs,
        clock,
      });
      if (swept.length > 0) this.#logger.info({ swept }, 'removed workspaces of dead workers');
    } catch (fault) {
      this.#logger.warn({ err: fault }, 'workspaces could not be swept');
    }
  }
}

/** Unknown counts as yes: a scheduler that looks in vain costs little. */
const isFollowed = (finished: Finished | null): boolean =>
  finished?.kind !== 'finished' || finished.isFollowed !== false;
