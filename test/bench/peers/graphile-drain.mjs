// node graphile-drain.mjs URL JOBS default|batched: adds no-op jobs, then drains them with 100 at once.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

const [url, count, mode] = process.argv.slice(2);
const CONCURRENCY = 100;
const pgPool = new pg.Pool({ connectionString: url, max: 20 });
const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();
await pgPool.query(
  "select graphile_worker.add_job('run', json_build_object('n', n)) from generate_series(1, $1::int) n",
  [Number(count)],
);
await pgPool.query('vacuum analyze');
let left = Number(count);
let finish;
const drained = new Promise((resolve) => {
  finish = resolve;
});
const startedMs = performance.now();
const runner = await run({
  pgPool,
  logger,
  noHandleSignals: true,
  concurrency: CONCURRENCY,
  taskList: {
    run: () => {
      left -= 1;
      if (left === 0) finish();
    },
  },
  ...(mode === 'batched'
    ? { preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } } }
    : {}),
});
await drained;
for (;;) {
  const { rows } = await pgPool.query('select exists (select 1 from graphile_worker._private_jobs) as more');
  if (!rows[0].more) break;
  await new Promise((resolve) => setTimeout(resolve, 2));
}
console.log(JSON.stringify({ perSecond: (Number(count) * 1000) / (performance.now() - startedMs) }));
await runner.stop();
await pgPool.end();
process.exit(0);
