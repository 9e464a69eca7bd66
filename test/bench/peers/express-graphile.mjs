// node express-graphile.mjs URL PORT SECRET: what one would build: Express, the signature, one keyed job for a delivery.
import { createHmac, timingSafeEqual } from 'node:crypto';
import express from 'express';
import { Logger, makeWorkerUtils } from 'graphile-worker';
import pg from 'pg';

const [url, port, secret] = process.argv.slice(2);
const pgPool = new pg.Pool({ connectionString: url, max: 16 });
const logger = new Logger(() => () => {});
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();
const app = express();
app.post('/webhooks/:source', express.raw({ type: () => true, limit: '25mb' }), async (request, response) => {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(request.body).digest('hex')}`);
  const given = Buffer.from(request.get('x-hub-signature-256') ?? '');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    response.status(401).end();
    return;
  }
  const payload = JSON.parse(request.body.toString('utf8'));
  await utils.addJob('run', payload, { jobKey: request.get('x-github-delivery') });
  response.status(202).json({ ok: true });
});
app.listen(Number(port), '127.0.0.1', () => console.log(JSON.stringify({ ready: true })));
