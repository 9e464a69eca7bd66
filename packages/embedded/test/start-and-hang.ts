/** Run as a process of its own by tests that kill it: starts both servers, says so, and stays. */
import { startPostgres, startRedis } from '../src/index.js';

const dataDir = process.argv[2] ?? '';
const postgres = await startPostgres({ dataDir, url: null, durable: false });
const redis = await startRedis({ dataDir, url: null });
console.log(JSON.stringify({ postgres: postgres.pid, redis: 'pid' in redis ? redis.pid : null }));
setInterval(() => {}, 60_000);
