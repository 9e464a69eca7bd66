/** What dispatch and claim cost with very much waiting, against hardly anything; and with the past pinned. */
import { headsPerPair } from '@headgate/dispatch';
import { type Database, dispatch, openDatabase } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import {
  aRunSpec,
  explainEverything,
  inDatabase,
  seedBacklog,
  seedTenants,
  watch,
  withClient,
} from '@headgate/testkit/measure';
import { type Line, lineOver } from '../../world/line.js';
import type { Place } from '../harness/place.js';
import { interleaved } from '../harness/rounds.js';
import type { Bench, Part, Row } from '../harness/row.js';

interface Stage {
  readonly place: Place;
  readonly name: string;
  readonly serviceUrl: string;
  readonly line: Line;
  readonly db: Database;
  readonly url: string;
  readonly queueId: number;
  readonly tenants: readonly number[];
}

interface Cost {
  readonly ms: number;
  readonly buffers: number;
}

const SMALL = { runs: 1_000, tenants: 10 };
/** Tenants of one turn, and runs taken: as a dispatcher with 50 free slots asks. */
const PAIRS = 200;
const TAKEN = 50;
const DEAD = 100_000;

export const backlog: Part = {
  name: 'backlog',
  run: async (bench) => {
    const { effort } = bench;
    const small = await stage(bench, 'backlog_small', SMALL);
    const large = await stage(bench, 'backlog_large', { runs: effort.backlog, tenants: effort.tenants });
    const costs = { small: [] as Cost[], large: [] as Cost[], pinned: [] as Cost[] };
    await interleaved(effort.rounds, {
      small: () => keep(costs.small, passage(small)),
      large: () => keep(costs.large, passage(large)),
    });
    await pinned(large, effort.isQuick ? DEAD / 10 : DEAD, async () => {
      for (let round = 0; round < effort.rounds; round += 1) costs.pinned.push(await passage(large));
    });
    await Promise.all([small.db.close(), large.db.close()]);
    const named = `${effort.backlog.toLocaleString('en').replaceAll(',', ' ')} waiting runs of ${effort.tenants} tenants`;
    const row = (what: string, of: keyof Cost, list: readonly Cost[], target: number): Row => ({
      name: what,
      unit: of === 'ms' ? 'ms' : 'pages',
      ours: list.map((cost) => cost[of]),
      against: {
        name: `${SMALL.runs} runs of ${SMALL.tenants} tenants`,
        values: costs.small.map((cost) => cost[of]),
      },
      target: { kind: 'at-most', value: target },
    });
    const what = `one dispatch and claim of ${TAKEN} runs, ${named}`;
    const dead = `${what}, dead rows pinned by a long transaction`;
    return [
      row(what, 'ms', costs.large, 1.5),
      row(what, 'buffers', costs.large, 1.5),
      row(dead, 'ms', costs.pinned, 3),
      row(dead, 'buffers', costs.pinned, 3),
    ];
  },
};

async function keep(costs: Cost[], made: Promise<Cost>): Promise<number> {
  const cost = await made;
  costs.push(cost);
  return cost.ms;
}

async function stage(
  { place }: Bench,
  name: string,
  size: { runs: number; tenants: number },
): Promise<Stage> {
  const urls = await place.database(name);
  const { ownerUrl } = urls;
  const db = openOne(urls.serviceUrl);
  const line = await lineOver(db);
  const tenants = await seedTenants(urls.ownerUrl, size.tenants);
  const group = { tenantIds: tenants, runs: size.runs, state: 'ready', history: false } as const;
  await seedBacklog({ ownerUrl, like: line.tenant, spec: aRunSpec({ route: 'fix' }) }, [
    { ...group, agoMs: 3_600_000 },
  ]);
  await withClient(inDatabase(place.postgres.superuserUrl ?? ownerUrl, name), (client) =>
    client.query('vacuum analyze headgate.queue_item, headgate.run, headgate.task'),
  );
  return {
    place,
    name,
    serviceUrl: urls.serviceUrl,
    line,
    db,
    url: ownerUrl,
    queueId: line.tenant.queueId,
    tenants,
  };
}

/** Warm, once for the time and once, explained, for the pages; what is claimed is finished, so that nothing piles up. */
async function passage(stage: Stage): Promise<Cost> {
  await once(stage, stage.line);
  const startedMs = performance.now();
  await once(stage, stage.line);
  const ms = performance.now() - startedMs;
  const { place, name } = stage;
  await explainEverything(place.postgres, { database: name });
  const db = openOne(stage.serviceUrl);
  const explained = await lineOver(db);
  const { plans } = await watch([db.service], () => once(stage, explained));
  await db.close();
  await explainEverything(place.postgres, { database: name, isOn: false });
  return { ms, buffers: plans.reduce((sum, plan) => sum + plan.buffers, 0) };
}

const openOne = (serviceUrl: string): Database =>
  openDatabase({
    serviceUrl,
    applicationName: 'bench',
    logger: createLogger('bench', { level: 'silent' }),
    maxConnections: 1,
  });

async function once({ queueId, tenants }: Stage, line: Line): Promise<void> {
  const asked = tenants.slice(0, PAIRS);
  const outcome = await dispatch(line.db.service, {
    pairs: asked.map((tenantId) => ({ queueId, tenantId, after: null })),
    read: (pairs) => ({ pairs, headsPerPair: headsPerPair(pairs.length, TAKEN) }),
    wait: true,
    choose: ({ heads }) => heads.slice(0, TAKEN).map((head) => head.runId),
  });
  const items = outcome.kind === 'dispatched' ? outcome.items : [];
  await line.finish(await line.claim(items));
}

/** While a transaction elsewhere keeps the past, items are dispatched and taken back: each leaves two dead versions. */
async function pinned({ url }: Stage, dead: number, work: () => Promise<void>): Promise<void> {
  await withClient(url, (holder) =>
    withClient(url, async (owner) => {
      await holder.query('begin isolation level repeatable read');
      await holder.query('select 1 from headgate.queue_item limit 1');
      await owner.query(
        `update headgate.queue_item set rank_at = rank_at + interval '1 millisecond'
          where run_id in (select run_id from headgate.queue_item where state = 'ready' order by rank_at limit $1)`,
        [dead],
      );
      await work();
      await holder.query('rollback');
    }),
  );
}
