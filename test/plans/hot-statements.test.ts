/**
 * SQL rule 10: every hot statement at 100 000 waiting runs that were never vacuumed, a saturated tenant and a busy key in
 * front, run by the functions that the services call, once by the plans that Postgres chooses for the values at hand and
 * once by those it would keep for any. Each uses its index, reads no large table from end to end, and looks at few pages.
 */
import { withClient } from '@headgate/testkit';
import { explainEverything, type Plan, watch } from '@headgate/testkit/measure';
import { beforeAll, describe, expect, test } from 'vitest';
import { askPages, PAGES, type PageBound, type PageName } from './console.js';
import { HOT } from './hot.js';
import { wholePassage } from './passage.js';
import { type Scene, setScene } from './scene.js';

let scene: Scene;
let large: ReadonlySet<string>;
beforeAll(async () => {
  scene = await setScene();
  large = await largeTables(scene);
}, 120_000);

describe.each([
  ['as-chosen', 0],
  ['generic', 1],
] as const)('plans %s', (plans, round) => {
  let seen: readonly Plan[];
  let pages: ReadonlyMap<PageName, readonly Plan[]>;
  beforeAll(async () => {
    await explainEverything(scene.postgres.server, { plans });
    const db = scene.open();
    const pools = [db.service, db.reserved];
    seen = (await watch(pools, () => wholePassage(scene, db, round))).plans;
    pages = await askPages(scene, db);
  }, 120_000);

  test.each(HOT)('SQL rule 10: $statement', ({ statement, indexes, buffers }) => {
    const mine = seen.filter((plan) => plan.statement === statement);
    expect(mine, 'it was run').not.toEqual([]);
    for (const plan of mine) {
      for (const index of indexes) {
        expect(
          [...plan.indexes].some((used) => index.test(used)),
          `${index} in\n${plan.text}`,
        ).toBe(true);
      }
      expect(plan.buffers, plan.text).toBeLessThanOrEqual(buffers);
    }
  });

  test('SQL rule 10: no statement of the way reads a large table from end to end', () => {
    const guilty = seen.filter((plan) => [...plan.wholeTables].some((table) => large.has(table)));
    expect(guilty.map((plan) => plan.statement)).toEqual([]);
  });

  test.each(Object.keys(PAGES) as PageName[])('SQL rule 10, console: %s', (name) => {
    const mine = pages.get(name) ?? [];
    expect(mine).not.toEqual([]);
    const guilty = mine.filter((plan) => [...plan.wholeTables].some((table) => large.has(table)));
    expect(guilty.map((plan) => plan.text)).toEqual([]);
    const bound: PageBound = PAGES[name];
    const most = plans === 'generic' ? (bound.genericBuffers ?? bound.buffers) : bound.buffers;
    expect(mine.reduce((sum, plan) => sum + plan.buffers, 0)).toBeLessThanOrEqual(most);
  });
});

/** Pages from which a table counts as large: leases, workers and policies stay below it. */
const LARGE_PAGES = 150;

const largeTables = ({ postgres }: Scene): Promise<ReadonlySet<string>> =>
  withClient(postgres.ownerUrl, async (owner) => {
    const { rows } = await owner.query<{ name: string }>(
      `select c.relname as name from pg_class c
        where c.relnamespace = 'headgate'::regnamespace and c.relkind = 'r'
          and pg_relation_size(c.oid) > $1 * current_setting('block_size')::bigint`,
      [LARGE_PAGES],
    );
    const names = rows.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['queue_item', 'run', 'task', 'task_version', 'delivery']));
    return new Set(names);
  });
