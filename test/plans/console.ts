/** The console over the scene, asked as a browser asks it. */
import { createConsole } from '@headgate/console';
import { formatId, type RunId } from '@headgate/domain';
import { apiTokens, type Database, generateToken } from '@headgate/store';
import { atEnd } from '@headgate/testkit';
import { type Plan, watch } from '@headgate/testkit/measure';
import { aContext, served } from '../world/service.js';
import type { Scene } from './scene.js';

export interface PageBound {
  readonly path: string;
  readonly buffers: number;
  /** By plans for any values; by default the same. */
  readonly genericBuffers?: number;
}

/** Each page, and how much of the database it may look at: for all its statements together. */
export const PAGES = {
  'newest receipts': { path: '/v1/receipts', buffers: 1_200 },
  'receipts of a delivery': { path: '/v1/receipts?eventId={eventId}', buffers: 60 },
  'receipts of a run': { path: '/v1/receipts?runId={runId}', buffers: 60 },
  'receipts of a work key': { path: '/v1/receipts?workKey={workKey}', buffers: 900 },
  'receipts of a work key that is not there': { path: '/v1/receipts?workKey=no/such/key', buffers: 800 },
  'receipts of a repository': { path: '/v1/receipts?repository=acme/api', buffers: 1_200 },
  // Pages are asked by statements without a name, which Postgres plans for the values at hand. A plan for any value
  // takes every repository for the one that the scene has.
  'receipts of a repository that is not there': {
    path: '/v1/receipts?repository=acme/none',
    buffers: 20,
    genericBuffers: 7_000,
  },
  'receipts of a reason that is not there, the newest 5 000 looked through': {
    path: '/v1/receipts?reasonCode=STALE_EVENT',
    buffers: 7_000,
  },
  'receipts of a source, before a time': {
    path: '/v1/receipts?source=acme&until={until}',
    buffers: 1_200,
  },
  'newest runs': { path: '/v1/runs', buffers: 3_000 },
  'waiting runs': { path: '/v1/runs?publicStatus=waiting', buffers: 3_500 },
  'runs of a work key': { path: '/v1/runs?workKey={workKey}', buffers: 1_300 },
  'one run': { path: '/v1/runs/{runId}', buffers: 200 },
  'why a run waits': { path: '/v1/explain?ref={runId}', buffers: 400 },
} as const satisfies Readonly<Record<string, PageBound>>;

export type PageName = keyof typeof PAGES;

export async function askPages(scene: Scene, db: Database): Promise<ReadonlyMap<PageName, readonly Plan[]>> {
  const context = await aContext(
    { urls: scene.postgres },
    { apiUrl: scene.postgres.apiUrl, maxConnections: 1 },
  );
  const token = generateToken();
  await db.service.use((c) => apiTokens.put(c, { token, name: 'plans', role: 'viewer', tenantId: null }));
  const console = createConsole(context);
  const edge = await served(console);
  atEnd(() => console.stop());
  const names = await someRun(db);
  const seen = new Map<PageName, readonly Plan[]>();
  for (const [name, { path }] of Object.entries(PAGES)) {
    const url = `${edge.url}${path.replace(/\{(\w+)\}/g, (_, word: string) => encodeURIComponent(names[word] ?? ''))}`;
    const { plans, result } = await watch([context.database.api, context.database.service], () =>
      fetch(url, { headers: { authorization: `Bearer ${token}` } }),
    );
    if (!result.ok) throw new Error(`${path} answered ${result.status}: ${await result.text()}`);
    seen.set(name as PageName, plans);
  }
  return seen;
}

/** In the midst of the scene. */
const MINUTES_MS = 30 * 60_000;

async function someRun(db: Database): Promise<Readonly<Record<string, string>>> {
  const [row] = await db.service.use((c) =>
    c.query<{ runId: RunId; workKey: string; eventId: string }>(
      `select r.id as "runId", t.work_key as "workKey", x.event_id as "eventId"
         from headgate.queue_item q join headgate.run r on r.id = q.run_id join headgate.task t on t.id = r.task_id
         join headgate.receipt x on x.id = r.receipt_id
        where q.state = 'ready' limit 1`,
    ),
  );
  if (row === undefined) throw new Error('nothing waits');
  const until = new Date(Date.now() - MINUTES_MS).toISOString();
  return { ...row, runId: formatId('run', row.runId), until };
}
