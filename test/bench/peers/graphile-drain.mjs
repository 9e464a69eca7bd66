// node graphile-drain.mjs URL default|batched JOBS WARM-UP: drains no-op jobs with 100 at once, first those of the warm-up.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

const [url, mode, count, warmUp] = process.argv.slice(2);
const CONCURRENCY = 100;
const pgPool = new pg.Pool({ connectionString: url, max: 20 });
const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();

let left = 0;
let startedMs = 0;
let finish;
const start = () =>
  run({
    pgPool,
    logger,
    noHandleSignals: true,
    concurrency: CONCURRENCY,
    taskList: {
      run: () => {
        startedMs ||= performance.now();
        left -= 1;
        if (left === 0) finish();
      },
    },
    ...(mode === 'batched'
      ? { preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } } }
      : {}),
  });

/** Adds so many, and resolves when they are done: how long it took from the first start, in milliseconds. */
async function drain(jobs) {
  left = jobs;
  startedMs = 0;
  const done = new Promise((resolve) => {
    finish = resolve;
  });
  await pgPool.query(
    "select graphile_worker.add_job('run', json_build_object('n', n)) from generate_series(1, $1::int) n",
    [jobs],
  );
  await done;
  for (;;) {
    const { rows } = await pgPool.query(
      'select exists (select 1 from graphile_worker._private_jobs) as more',
    );
    if (!rows[0].more) return performance.now() - startedMs;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

await pgPool.query('vacuum analyze');
const runner = await start();
await drain(Number(warmUp));
const tookMs = await drain(Number(count));
console.log(JSON.stringify({ perSecond: (Number(count) * 1000) / tookMs }));
await runner.stop();
await pgPool.end();
process.exit(0);
