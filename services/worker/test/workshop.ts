/** A worker with everything around it that is real: Postgres, git, a bare repository that plays the forge. */
import { join } from 'node:path';
import { readSettings } from '@headgate/config';
import type { LeaseTiming, Policy, RunId, RunSpec, RunStatus } from '@headgate/domain';
import { identify, isAlive } from '@headgate/runtimes';
import { createContext, type Service, type ServiceContext } from '@headgate/service';
import { createLogger } from '@headgate/telemetry';
import {
  anAgent,
  aPolicy,
  aRoute,
  aSource,
  atEnd,
  type BareRepository,
  bareRepository,
  dispatchRuns,
  eventually,
  type RunSeed,
  removeDataFolder,
  type SeededRun,
  type SeededTenant,
  seedRun,
  seedTenant,
  type TestStore,
  temporaryDataFolder,
  testStore,
} from '@headgate/testkit';
import { createWorker, type WorkerOptions } from '../src/index.js';

/** Short, and yet long enough for a machine that does ten things at once. */
export const LEASE: LeaseTiming = {
  ttlMs: 15_000,
  heartbeatMs: 1_000,
  renewDeadlineMs: 9_000,
  stopMarginMs: 5_000,
};

export const DEFECT = {
  'src/sum.js': 'export function sum(a, b) {\n  // FIXME: `a - b` should be `a + b`\n  return a - b;\n}\n',
};

export interface WorkshopOptions {
  readonly lease?: LeaseTiming;
  readonly env?: Readonly<Record<string, string>>;
  readonly redis?: { readonly url: string; readonly prefix: string };
  /** Through a proxy. */
  readonly serviceUrl?: (url: string) => string;
  readonly policy?: Partial<Omit<Policy, 'digest'>>;
  /** Where the worker's log goes; by default nowhere. */
  readonly log?: { write(line: string): void };
}

export interface Workshop {
  readonly db: TestStore;
  readonly repository: BareRepository;
  readonly headSha: string;
  readonly tenant: SeededTenant;
  readonly policy: Policy;
  readonly context: ServiceContext;
  readonly dataDir: string;
  /** Makes a worker, starts it, waits until it is ready. Stopped at the end of the test. */
  worker(options?: WorkerOptions): Promise<Service>;
  /** A run on the head of main, ready to be dispatched. */
  seed(spec?: Partial<RunSpec>, seed?: Omit<RunSeed, 'spec' | 'tenant'>): Promise<SeededRun>;
  /** Dispatches a run that is ready: with one of the test's workers at work it may be theirs already. */
  dispatch(run: SeededRun): Promise<void>;
  /** As `seed`, and dispatched: polling finds it. */
  offer(spec?: Partial<RunSpec>, seed?: Omit<RunSeed, 'spec' | 'tenant'>): Promise<SeededRun>;
  status(runId: RunId): Promise<{ status: RunStatus; reasonCode: string | null; detail: string | null }>;
  reaches(runId: RunId, status: RunStatus, deadlineMs?: number): Promise<void>;
}

/** Quick waits where a test would only sit through them. */
export const QUICK = { pollMs: 50, retryMs: 50, stageCollectMs: 20, killGraceMs: 500 } as const;

export async function workshop(options: WorkshopOptions = {}): Promise<Workshop> {
  const db = await testStore();
  const repository = await bareRepository({ commits: 1 });
  atEnd(() => repository.remove());
  const headSha = await repository.commit({ files: DEFECT });
  const policy = aPolicy({
    sources: [
      aSource({
        repositories: [
          { fullName: 'acme/api', url: repository.path, defaultBranch: 'main', ciTrusted: true },
        ],
      }),
    ],
    agents: [exampleAgent(options.env)],
    routes: [aRoute({ verify: [] })],
    lease: options.lease ?? LEASE,
    ...options.policy,
  });
  const tenant = await seedTenant(db, { policy });
  const dataDir = temporaryDataFolder();
  atEnd(() => removeDataFolder(dataDir));
  const context = contextFor(db, dataDir, options);
  atEnd(() => context.close());
  await context.policy.refresh();

  const seed: Workshop['seed'] = (spec = {}, rest = {}) =>
    seedRun(db, {
      tenant,
      inputVersion: headSha,
      ...rest,
      spec: {
        repository: { externalId: '42', fullName: 'acme/api', url: repository.path, defaultBranch: 'main' },
        target: { kind: 'branch', id: 'main', ref: 'main', aspect: null },
        agent: exampleAgent(options.env),
        verify: [],
        protectedPaths: [],
        ...spec,
      },
    });
  const status: Workshop['status'] = async (runId) => {
    const [row] = await db.service.use((c) =>
      c.query<{ status: RunStatus; reasonCode: string | null; detail: string | null }>(
        'select status, reason_code as "reasonCode", reason_detail as detail from headgate.run where id = $1',
        [runId],
      ),
    );
    if (row === undefined) throw new Error(`there is no run ${runId}`);
    return row;
  };
  return {
    db,
    repository,
    headSha,
    tenant,
    policy,
    context,
    dataDir,
    seed,
    status,
    dispatch: (run) => dispatched(db, run),
    offer: async (spec, rest) => {
      const run = await seed(spec, rest);
      await dispatched(db, run);
      return run;
    },
    worker: async (workerOptions = {}) => {
      const worker = await createWorker(context, {
        settleMs: 200,
        ...workerOptions,
        timing: { ...QUICK, ...workerOptions.timing },
      });
      atEnd(() => worker.stop());
      await worker.start();
      await worker.ready();
      return worker;
    },
    reaches: async (runId, wanted, deadlineMs = 40_000) => {
      await eventually(async () => (await status(runId)).status === wanted || null, {
        what: `run ${runId} is ${wanted}`,
        deadlineMs,
      }).catch(async (fault: unknown) => {
        throw new Error(`${String(fault)}; it is ${JSON.stringify(await status(runId))}`);
      });
    },
  };
}

/**
 * Dispatched by this, or by a worker of the test that had a slot free and was quicker. Again where a worker's claim or verdict
 * holds the item's lock just then: a dispatch passes it over.
 */
async function dispatched(db: TestStore, run: SeededRun): Promise<void> {
  await eventually(
    async () => {
      if ((await dispatchRuns(db, [run]))[0] !== undefined) return true;
      const waiting = await db.service.use((c) =>
        c.query("select 1 from headgate.queue_item where run_id = $1 and state <> 'dispatched'", [run.runId]),
      );
      return waiting.length === 0;
    },
    { what: `run ${run.runId} is dispatched` },
  );
}

export const exampleAgent = (env: Readonly<Record<string, string>> = {}) =>
  anAgent({ command: ['headgate-example-agent'], env });

export function contextFor(db: TestStore, dataDir: string, options: WorkshopOptions = {}): ServiceContext {
  const settings = readSettings({ HEADGATE_DATA_DIR: dataDir });
  if (!settings.ok) throw new Error('the settings are not readable');
  return createContext({
    settings: settings.settings,
    name: 'test worker',
    serviceUrl: options.serviceUrl?.(db.urls.serviceUrl) ?? db.urls.serviceUrl,
    apiUrl: null,
    redisUrl: options.redis?.url ?? null,
    ...(options.redis === undefined ? {} : { hintPrefix: options.redis.prefix }),
    logger:
      options.log === undefined
        ? createLogger('test', { level: process.env['TEST_LOG'] ?? 'silent' })
        : createLogger('test', { level: 'debug', destination: options.log }),
  });
}

/** Rows of one statement. */
export const rowsOf = <Row extends object>(
  { db }: Pick<Workshop, 'db'>,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> =>
  db.service.use((c) => c.query<Row & Record<string, unknown>>(text, values)) as Promise<Row[]>;

export const eventsOf = async (shop: Workshop, runId: RunId): Promise<readonly string[]> =>
  (
    await rowsOf<{ type: string }>(
      shop,
      'select type from headgate.run_event where run_id = $1 order by id',
      [runId],
    )
  ).map((row) => row.type);

export const artifactFile = (shop: Workshop, path: string): string => join(shop.dataDir, 'artifacts', path);

/** Those of the processes that still run; one that nobody has collected yet does not. */
export const stillRunning = (pids: unknown): readonly number[] =>
  (pids as number[]).filter((pid) => {
    const found = identify(pid);
    return found !== null && isAlive(found);
  });
