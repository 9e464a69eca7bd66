/**
 * The whole system as it is deployed, on this machine: each service a process of its own (or all in one), real
 * Postgres, Redis and git, a bare repository as the forge with its own record of pushes. A test sends signals, kills,
 * freezes and starts again, and in the end has the history checker judge what happened.
 *
 * Who writes: only the services write rows, as in production; the test reads, and cancels through the store's own
 * transaction where no console runs.
 */
import { join } from 'node:path';
import { isTerminal, type Policy, type RunId, type RunStatus } from '@headgate/domain';
import { cancelRun, type Database, generateToken, policies, type Stopped } from '@headgate/store';
import { HISTORY_OPS } from '@headgate/telemetry';
import type { Pool } from 'pg';
import { followSignals, type SignalFollower } from '../follow-signals.js';
import type { BareRepository } from '../github/bare-repository.js';
import { Deliveries } from '../github/deliveries.js';
import { eventually } from '../services/eventually.js';
import { type ForeignJob, injectJobs } from './foreign-jobs.js';
import { type AgentPush, agentPushes } from './forge-log.js';
import { Gates } from './gates.js';
import { gather, type JudgedCluster, type JudgeOptions, judge } from './judge.js';
import { Member, SERVICE_NAMES, type ServiceName } from './member.js';
import {
  type ClusterOptions,
  DEFAULT_SERVICES,
  type MemberOptions,
  type PolicyChange,
  QUICK_OPTIONS,
} from './options.js';
import { type ClusterRun, Questions } from './questions.js';
import { Sampler } from './sampler.js';
import { type CheckDelivery, type SignalReply, sendCheck, submitWork, type WorkCall } from './senders.js';
import type { ClusterPostgres, ClusterRedis } from './stores.js';
import { TestHistory } from './test-history.js';
import { PATIENT_LEASE } from './workload.js';

export const WEBHOOK_SECRET = 'cluster-webhook-secret';

export class Cluster {
  readonly members: Member[] = [];
  readonly gates: Gates;
  readonly signals: SignalFollower;
  readonly deliveries = new Deliveries();
  readonly ask: Questions;
  readonly token = generateToken();
  readonly #history: TestHistory;
  #sampler: Sampler | null = null;
  #isEnding = false;

  constructor(
    readonly folder: string,
    readonly forge: BareRepository,
    readonly postgres: ClusterPostgres,
    readonly redis: ClusterRedis,
    readonly database: Database,
    readonly pool: Pool,
    readonly options: ClusterOptions,
    private readonly policyWith: (change: PolicyChange) => Policy,
  ) {
    this.gates = new Gates(join(folder, 'gates'));
    this.signals = followSignals(join(folder, 'signals.jsonl'));
    this.ask = new Questions(pool);
    this.#history = new TestHistory(this.historyDir);
  }

  get historyDir(): string {
    return join(this.folder, 'history');
  }

  /** Starts one more process of a service. */
  async add(service: ServiceName, change: MemberOptions = {}): Promise<Member> {
    const member = this.#newMember([service], change);
    await member.start();
    await member.ready();
    return member;
  }

  #newMember(services: readonly ServiceName[], change: MemberOptions): Member {
    const [only] = services;
    const kind = services.length === 1 && only !== undefined ? only : 'several';
    const number = this.members.filter((member) => member.name.startsWith(`${kind}-`)).length + 1;
    const options = Object.fromEntries(
      services
        .map((service) => [service, this.#optionsOf(service, change)] as const)
        .filter(([, given]) => Object.keys(given).length > 0),
    );
    const member = new Member({
      name: `${kind}-${number}`,
      services,
      env: { ...this.#environment(), ...change.env },
      ...(Object.keys(options).length === 0 ? {} : { options }),
      ...(change.failPoints === undefined ? {} : { failPoints: change.failPoints }),
    });
    this.members.push(member);
    return member;
  }

  #optionsOf(service: ServiceName, change: MemberOptions): Readonly<Record<string, unknown>> {
    return { ...QUICK_OPTIONS[service], ...this.options.options?.[service], ...change.options?.[service] };
  }

  #environment(): Readonly<Record<string, string>> {
    const { urls } = this.postgres;
    return {
      DATABASE_URL_SERVICE: urls.serviceUrl,
      DATABASE_URL_API: urls.apiUrl,
      ...(this.redis.url === null ? {} : { REDIS_URL: this.redis.url }),
      HEADGATE_PORT: '0',
      HEADGATE_DATA_DIR: join(this.folder, 'data'),
      HEADGATE_HISTORY_DIR: this.historyDir,
      HEADGATE_SIGNALS_FILE: join(this.folder, 'signals.jsonl'),
      HEADGATE_WORKER_SLOTS: String(this.options.slots ?? 4),
      HEADGATE_NO_REDIS: this.redis.url === null ? '1' : '',
      LOG_LEVEL: 'info',
      OTEL_SDK_DISABLED: 'true',
    };
  }

  /** Starts the processes that the options name, side by side. */
  async start(): Promise<void> {
    const counts = { ...DEFAULT_SERVICES, ...this.options.services };
    const wanted = SERVICE_NAMES.filter((service) => counts[service] > 0);
    const { layout = 'control' } = this.options;
    const shared = wanted.filter(
      (service) => layout === 'one' || (layout === 'control' && service !== 'worker'),
    );
    const armed = this.options.failPoints?.replaceAll('{folder}', this.folder);
    const failPoints = armed === undefined ? {} : { failPoints: armed };
    for (let n = 0; shared.some((service) => counts[service] > n); n += 1) {
      this.#newMember(
        shared.filter((service) => counts[service] > n),
        failPoints,
      );
    }
    for (const service of wanted.filter((name) => !shared.includes(name))) {
      for (let n = 0; n < counts[service]; n += 1) this.#newMember([service], {});
    }
    await Promise.all(
      this.members.map(async (member) => {
        await member.start();
        await member.ready();
      }),
    );
  }

  /** The n-th process that runs a service, from 0. */
  member(service: ServiceName, index = 0): Member {
    const found = this.members.filter((member) => member.services.includes(service))[index];
    if (found === undefined) throw new Error(`the cluster has no ${service} ${index}`);
    return found;
  }

  /** The process in which a worker id lives. Asked of the workers' own words. */
  async workerNamed(workerId: string): Promise<Member> {
    const { rows } = await this.pool.query<{ pid: number }>('select pid from headgate.worker where id = $1', [
      workerId,
    ]);
    const found = this.members.find((member) => member.process.pid === rows[0]?.pid);
    if (found === undefined) throw new Error(`no process of this cluster is worker ${workerId}`);
    return found;
  }

  /** A failed check by webhook, to the first intake or the one named. */
  async send(
    delivery: Omit<CheckDelivery, 'headSha'> & { readonly headSha?: string },
    to?: Member,
  ): Promise<SignalReply> {
    const headSha = delivery.headSha ?? (await this.head());
    return sendCheck(this.deliveries, (to ?? this.member('intake')).url, WEBHOOK_SECRET, {
      ...delivery,
      headSha,
    });
  }

  /** As `send`, and it must lead to a run of its own: gives the run's id. */
  async sendForRun(check: string, headSha?: string): Promise<RunId> {
    const reply = await this.send({ check, ...(headSha === undefined ? {} : { headSha }) });
    if (reply.runId === null || reply.outcome !== 'accept' || reply.existing === true) {
      throw new Error(`${check} led to no new run: ${reply.httpStatus} ${JSON.stringify(reply.body)}`);
    }
    return reply.runId;
  }

  /** Many at once: `sendForRuns('quick', 60)` sends `quick-1` … `quick-60`. */
  async sendForRuns(route: string, count: number, first = 1): Promise<readonly RunId[]> {
    const head = await this.head();
    return Promise.all(
      Array.from({ length: count }, (_, n) => this.sendForRun(`${route}-${first + n}`, head)),
    );
  }

  submitWork(call: WorkCall, to?: Member): Promise<SignalReply> {
    return submitWork((to ?? this.member('intake')).url, this.token, call);
  }

  async head(): Promise<string> {
    const head = await this.forge.head();
    if (head === null) throw new Error('the forge has no default branch');
    return head;
  }

  /** A cancel by a person. The history has it, for the checker. */
  async cancel(runId: RunId): Promise<Stopped | null> {
    this.#history.record({ type: 'invoke', op: HISTORY_OPS.cancel, run: runId });
    const stopped = await cancelRun(this.database.reserved, runId, { actor: 'test', reason: null });
    const took =
      stopped?.result === 'ended' || stopped?.result === 'requested' || stopped?.result === 'already';
    this.#history.record({ type: took ? 'ok' : 'fail', op: HISTORY_OPS.cancel, run: runId });
    return stopped;
  }

  /** Puts another policy in force: that of the start with this change. */
  async changePolicy(change: PolicyChange): Promise<void> {
    await policies.activate(this.database.service, this.policyWith(change), 'test');
  }

  async flushRedis(): Promise<void> {
    await this.redis.flush();
    this.#history.record({ type: 'info', op: HISTORY_OPS.redisFlushed });
  }

  /** Waits until the run is in one of these statuses; fails at once when it ended otherwise. */
  async waitForRun(
    runId: string,
    statuses: RunStatus | readonly RunStatus[],
    deadlineMs = 30_000,
  ): Promise<ClusterRun> {
    const [run] = await this.waitForRuns([runId], statuses, deadlineMs);
    if (run === undefined) throw new Error(`there is no run ${runId}`);
    return run;
  }

  /** As `waitForRun`, for all of them, in the order of their ids. */
  async waitForRuns(
    runIds: readonly string[],
    statuses: RunStatus | readonly RunStatus[],
    deadlineMs = 60_000,
  ): Promise<readonly ClusterRun[]> {
    const wanted = typeof statuses === 'string' ? [statuses] : statuses;
    const isThere = (run: ClusterRun): boolean => wanted.includes(run.status);
    const what = `${runIds.length === 1 ? `run ${runIds[0]} is` : `${runIds.length} runs are`} ${wanted.join(' or ')}`;
    const look = async (): Promise<readonly ClusterRun[] | null> => {
      const runs = await this.ask.runs(runIds);
      const isOver = runs.every(isThere) || runs.some((run) => isTerminal(run.status) && !isThere(run));
      return runs.length === runIds.length && isOver ? runs : null;
    };
    const runs = await eventually(look, { what, deadlineMs, everyMs: 25 }).catch(async (fault: unknown) => {
      throw new Error(`${String(fault)}${await this.#others(runIds, isThere)}`);
    });
    if (runs.every(isThere)) return runs;
    throw new Error(`not every one of ${what}${await this.#others(runIds, isThere)}`);
  }

  /** Those that are elsewhere, and what the processes said. */
  async #others(runIds: readonly string[], isThere: (run: ClusterRun) => boolean): Promise<string> {
    const others = (await this.ask.runs(runIds)).filter((run) => !isThere(run));
    return `; others: ${JSON.stringify(others)}\n${this.logs()}`;
  }

  /** Puts jobs into Redis as anybody who reaches it can. */
  async inject(jobs: readonly ForeignJob[], queue = 'default'): Promise<void> {
    if (this.redis.url === null) throw new Error('this cluster has no Redis');
    await injectJobs(this.redis.url, queue, jobs);
  }

  /** The process that reached a fail-point, once it has. */
  async failPointReached(failPoint: string, member?: Member, deadlineMs = 30_000): Promise<void> {
    await eventually(
      () =>
        this.signals
          .all()
          .some(
            ({ name, pid, detail }) =>
              name === 'failpoint.reached' &&
              detail['failPoint'] === failPoint &&
              (member === undefined || pid === member.process.pid),
          ),
      { what: `${member?.name ?? 'some process'} reaches ${failPoint}`, deadlineMs },
    ).catch((fault: unknown) => {
      throw new Error(`${String(fault)}\n${this.logs()}`);
    });
  }

  /** Begins to look where all runs are, five times a second; `check` hands the looks to the checker. */
  sample(): void {
    this.#sampler ??= new Sampler(this.pool);
  }

  /** Waits until nothing will move any more: every run at its end (or with a person), nothing held, nothing in doubt. */
  async settle(deadlineMs = 60_000): Promise<void> {
    await eventually(
      async () => {
        const moving = await this.ask.moving();
        return Object.values(moving).every((count) => count === 0);
      },
      { what: 'everything has come to rest', deadlineMs, everyMs: 50 },
    ).catch(async (fault: unknown) => {
      const [moving, runs] = [await this.ask.moving(), await this.ask.runs()];
      const left = runs.filter((run) => run.sealed || run.status !== 'SUCCEEDED');
      throw new Error(`${String(fault)}\n${JSON.stringify(moving)}\n${JSON.stringify(left)}\n${this.logs()}`);
    });
    await this.#sampler?.stop();
  }

  /** What the agents' results changed at the forge, in its order. */
  pushes(): Promise<readonly AgentPush[]> {
    return agentPushes(this.forge);
  }

  /** Every run that succeeded has pushed exactly once, by content; no other has pushed twice. Gives the pushes. */
  async check(options: JudgeOptions = {}): Promise<JudgedCluster> {
    const parts = {
      pool: this.pool,
      forge: this.forge,
      historyDir: this.historyDir,
      snapshots: this.#sampler?.snapshots ?? [],
    };
    const { ttlMs, stopMarginMs } = this.options.lease ?? PATIENT_LEASE;
    const settings = { ttlMs, stopMarginMs, slackMs: 10_000, ...options.settings };
    return judge(await gather(parts, options), { ...options, settings });
  }

  /** The last words of every process, for a failed test. */
  logs(lines = 40): string {
    return this.members
      .map((member) => `--- ${member.name}\n${member.log().trimEnd().split('\n').slice(-lines).join('\n')}`)
      .join('\n');
  }

  /** What the processes logged as errors: a fault that somebody handled is a warning. */
  faultsLogged(): readonly string[] {
    const isError = (line: string): boolean => /^\{"level":[56]0/.test(line);
    return this.members.flatMap((member) => member.log().split('\n').filter(isError));
  }

  /** Kills what still runs. */
  async stop(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    await this.#sampler?.stop();
    await Promise.all(this.members.filter((member) => member.isRunning).map((member) => member.kill9()));
  }
}
