import type { Admission } from '@headgate/admission';
import type { ServiceContext } from '@headgate/service';
import { Router } from 'express';
import { events } from '../events/events.js';
import type { Heads } from '../repositories/heads.js';
import type { Refusals } from '../webhooks/refusals.js';
import type { WebhookSecrets } from '../webhooks/secrets.js';
import { webhooks } from '../webhooks/webhooks.js';
import { work } from '../work/work.js';
import type { Gate } from './gate.js';
import { measured } from './measured.js';

export interface IntakeRoutes {
  readonly context: ServiceContext;
  readonly admission: Admission;
  readonly heads: Heads;
  readonly secrets: WebhookSecrets;
  readonly refusals: Refusals;
  readonly gate: Gate;
}

export function intakeRouter(routes: IntakeRoutes): Router {
  const router = Router();
  const { handler } = routes.gate;
  router.post('/webhooks/:source', measured('/webhooks/{source}'), handler, ...webhooks(routes));
  router.post('/v1/events', measured('/v1/events'), handler, ...events(routes));
  router.post('/v1/work', measured('/v1/work'), handler, ...work(routes));
  return router;
}
