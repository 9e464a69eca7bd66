// node pg-boss.mjs URL JOBS: sends with a key, then fetches and completes by 500, without handlers.
import { PgBoss } from 'pg-boss';

const [url, count] = process.argv.slice(2);
const boss = new PgBoss({ connectionString: url, max: 16 });
boss.on('error', () => {});
await boss.start();
await boss.createQueue('run');
const IN_FLIGHT = 32;
let next = 0;
const sentMs = performance.now();
await Promise.all(
  Array.from({ length: IN_FLIGHT }, async () => {
    while (next < Number(count)) {
      next += 1;
      await boss.send('run', { n: next }, { singletonKey: String(next) });
    }
  }),
);
const sent = (Number(count) * 1000) / (performance.now() - sentMs);
let done = 0;
const startedMs = performance.now();
for (;;) {
  const jobs = await boss.fetch('run', { batchSize: 500 });
  if (jobs.length === 0) break;
  await boss.complete(
    'run',
    jobs.map((job) => job.id),
  );
  done += jobs.length;
}
console.log(JSON.stringify({ sent, perSecond: (done * 1000) / (performance.now() - startedMs) }));
await boss.stop({ graceful: false });
process.exit(0);
