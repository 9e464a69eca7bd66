// node graphile-latency.mjs URL SAMPLES WARM-UP: milliseconds from addJob to the start of its task, in an idle system.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

const [url, samples, warmUp] = process.argv.slice(2);
const pgPool = new pg.Pool({ connectionString: url, max: 12 });
const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();
let started;
const runner = await run({
  pgPool,
  logger,
  noHandleSignals: true,
  concurrency: 10,
  taskList: { run: () => started(performance.now()) },
});
async function one(n, pauseMs) {
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
  const begun = new Promise((resolve) => {
    started = resolve;
  });
  const addedMs = performance.now();
  await utils.addJob('run', { n }, { jobKey: String(n) });
  return (await begun) - addedMs;
}
for (let n = 0; n < Number(warmUp); n += 1) await one(-n, 0);
const waits = [];
for (let n = 0; n < Number(samples); n += 1) waits.push(await one(n, 60));
waits.sort((a, b) => a - b);
console.log(JSON.stringify({ p50: waits[Math.floor(waits.length / 2)] }));
await runner.stop();
await pgPool.end();
process.exit(0);
