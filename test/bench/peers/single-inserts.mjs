// node single-inserts.mjs URL SECONDS: one-row commits on 16 connections. What a database alone can do.
import pg from 'pg';

const [url, seconds] = process.argv.slice(2);
const CONNECTIONS = 16;
const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
await pool.query(
  'create table if not exists plain (id bigint generated always as identity primary key, body text not null, at timestamptz not null default now())',
);
const startedMs = performance.now();
const untilMs = startedMs + Number(seconds) * 1000;
let rows = 0;
await Promise.all(
  Array.from({ length: CONNECTIONS }, async () => {
    while (performance.now() < untilMs) {
      await pool.query({
        name: 'insert',
        text: 'insert into plain (body) values ($1)',
        values: ['x'.repeat(200)],
      });
      rows += 1;
    }
  }),
);
console.log(JSON.stringify({ perSecond: (rows * 1000) / (performance.now() - startedMs) }));
await pool.end();
