// node bullmq.mjs REDIS JOBS: BullMQ alone, without a database: adds in bulk, and drains no-op jobs at concurrency 100.
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';

const [url, count] = process.argv.slice(2);
const connection = new Redis(url, { maxRetriesPerRequest: null });
const queue = new Queue('bench', { connection });
await queue.obliterate({ force: true });
const BULK = 500;
const addedMs = performance.now();
for (let n = 0; n < Number(count); n += BULK) {
  await queue.addBulk(Array.from({ length: BULK }, (_, at) => ({ name: 'run', data: { n: n + at } })));
}
const added = (Number(count) * 1000) / (performance.now() - addedMs);
let left = Number(count);
const startedMs = performance.now();
await new Promise((resolve) => {
  const worker = new Worker(
    'bench',
    async () => {
      left -= 1;
      if (left <= 0) resolve(worker);
    },
    { connection, concurrency: 100 },
  );
});
console.log(JSON.stringify({ added, perSecond: (Number(count) * 1000) / (performance.now() - startedMs) }));
process.exit(0);
