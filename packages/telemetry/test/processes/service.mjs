// A small traced service, started with `--import …/register.js`: what it answers is what the tests look at.
import http from 'node:http';
import express from 'express';
import { currentTraceparent, selfTestInstrumentation, shutdownTelemetry } from '../../dist/index.js';

const state = await selfTestInstrumentation();
const app = express();
app.get('/runs/:id', (_request, response) => {
  response.json({ traceparent: currentTraceparent() });
});
const server = http.createServer(app).listen(0, '127.0.0.1', async () => {
  const { port } = server.address();
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  // By a raw socket's eyes: fetch is not instrumented here, so the header arrives as it is written.
  const answer = await fetch(`http://127.0.0.1:${port}/runs/7`, { headers: { traceparent } });
  const seen = await answer.json();
  server.close();
  const start = performance.now();
  await shutdownTelemetry(Number(process.env.SHUTDOWN_MS ?? '3000'));
  console.log(JSON.stringify({ state, seen, shutdownMs: performance.now() - start }));
  process.exit(0);
});
