// node single-inserts.mjs URL SECONDS REQUESTS: bodies of deliveries, one row a commit, on 16 connections. What a database
// alone can do: no HTTP, no signature, no key, nothing decided.
import { readFileSync } from 'node:fs';
import pg from 'pg';

const [url, seconds, requests] = process.argv.slice(2);
const CONNECTIONS = 16;
const { parts, lines } = JSON.parse(readFileSync(requests, 'utf8'));
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
      const [number] = lines[rows % lines.length];
      rows += 1;
      await pool.query({
        name: 'insert',
        text: 'insert into plain (body) values ($1)',
        values: [parts.join(number)],
      });
    }
  }),
);
console.log(JSON.stringify({ perSecond: (rows * 1000) / (performance.now() - startedMs) }));
await pool.end();
