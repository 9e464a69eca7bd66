/** `/healthz`, `/readyz`, `/metrics`: no token, on every service. */
import { METRICS_CONTENT_TYPE, metricsText, selfTestInstrumentation } from '@headgate/telemetry';
import { Router } from 'express';
import type { ServiceContext } from '../context.js';

/** One line of `/readyz`. */
export interface Readiness {
  readonly postgres: 'ok' | 'down';
  readonly policy: 'ok' | 'missing';
  /** Without Redis everything works, by polling. */
  readonly redis: 'ok' | 'degraded';
  readonly tracing: string;
}

const PROBE_MS = 2_000;

export async function readiness(context: ServiceContext): Promise<Readiness> {
  const [postgres, tracing] = await Promise.all([probePostgres(context), selfTestInstrumentation()]);
  return {
    postgres,
    policy: context.policy.currentOrNull() === null ? 'missing' : 'ok',
    redis: context.bus.health().state === 'healthy' ? 'ok' : 'degraded',
    tracing: tracing.state,
  };
}

export function healthRouter(context: ServiceContext, startedAt: Date): Router {
  const router = Router();
  router.get('/healthz', (_request, response) => {
    response.json({ status: 'ok', startedAt: startedAt.toISOString() });
  });
  router.get('/readyz', async (_request, response) => {
    const checks = await readiness(context);
    const ready = checks.postgres === 'ok' && checks.policy === 'ok';
    response.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready', checks });
  });
  router.get('/metrics', async (_request, response) => {
    response.setHeader('content-type', METRICS_CONTENT_TYPE);
    response.send(await metricsText());
  });
  return router;
}

async function probePostgres(context: ServiceContext): Promise<'ok' | 'down'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'down'>((resolve) => {
    timer = setTimeout(() => resolve('down'), PROBE_MS);
  });
  const asked = context.database.reserved
    .use((c) => c.query('select 1'))
    .then(
      () => 'ok' as const,
      () => 'down' as const,
    );
  const answer = await Promise.race([asked, late]);
  clearTimeout(timer);
  return answer;
}
