/**
 * The console: REST, OpenAPI, *why*, the event stream, Bull Board and the web console, for whoever holds a token.
 *
 * It reads as `headgate_api`, under row level security, in one transaction per answer; it cancels under the same role;
 * and asks for work again through admission, like every other trigger. In memory it keeps who listens to the stream, and
 * nothing else: any number may run.
 */
import { Admission } from '@headgate/admission';
import { policyArrives, type Service, type ServiceContext } from '@headgate/service';
import { createBullBoardRouter } from '@headgate/transport';
import { type Request, Router } from 'express';
import { callerOf, mayAct, unauthorized } from './auth/index.js';
import { unavailable } from './faults.js';
import {
  bullBoardHeaders,
  DEFAULT_RATE_LIMITS,
  limiter,
  mountRoutes,
  type RateLimits,
  type Route,
  strictHeaders,
} from './http/index.js';
import { openApiDocument } from './openapi/document.js';
import { waitingReader } from './queries/index.js';
import {
  actRoutes,
  consolePageRoutes,
  evidenceRoutes,
  goalRoutes,
  readRoutes,
  scheduleRoutes,
  wordRoutes,
} from './routes/index.js';
import { mountSessions } from './session-routes.js';
import { EventStream } from './stream/index.js';
import { mountWebConsole } from './web-console.js';

export interface ConsoleOptions {
  readonly rateLimits?: Partial<RateLimits>;
}

/** Shown in the OpenAPI document. */
const API_VERSION = '0.1.0';

/** @throws when there is no connection as `headgate_api`: without it nothing would hold tenants apart. */
export function createConsole(context: ServiceContext, options: ConsoleOptions = {}): Service {
  if (context.database.api === context.database.service) {
    throw new Error(
      'the console needs its own database role: set DATABASE_URL_API (role headgate_api) beside DATABASE_URL_SERVICE',
    );
  }
  const admission = new Admission({
    pool: context.database.service,
    dimensions: context.dimensions,
    ids: context.ids,
    logger: context.logger,
    policy: () => context.policy.current(),
    onAdmitted: (runs) => {
      for (const { tenantId, queue } of runs) void context.bus.wake('ready', { tenantId, queue });
    },
  });
  const stream = new EventStream(context);
  return {
    name: 'console',
    router: consoleRouter(context, admission, stream, { ...DEFAULT_RATE_LIMITS, ...options.rateLimits }),
    start: async () => stream.start(),
    ready: () => policyArrives(context),
    // Streams have no end of their own.
    drain: async () => {
      await stream.stop();
      await admission.idle();
    },
    stop: () => stream.stop(),
  };
}

/** The API's routes, as they are served and described. */
export function consoleRoutes(
  context: ServiceContext,
  admission: Admission,
  stream: EventStream,
): readonly Route[] {
  const waiting = waitingReader(context);
  return [
    ...readRoutes(context, waiting),
    ...evidenceRoutes(context),
    ...consolePageRoutes(context, stream, API_VERSION),
    ...actRoutes({ context, admission }, waiting),
    ...wordRoutes(context, waiting),
    ...scheduleRoutes(context),
    ...goalRoutes(context),
  ];
}

function consoleRouter(
  context: ServiceContext,
  admission: Admission,
  stream: EventStream,
  limits: RateLimits,
): Router {
  const router = Router();
  const routes = consoleRoutes(context, admission, stream);
  const document = openApiDocument(routes, API_VERSION);
  const before = [limiter(limits.apiPerMinute), strictHeaders()];

  mountSessions(router, context, [limiter(limits.signInPerMinute), strictHeaders()]);
  mountRoutes(router, context, routes, before);
  router.get('/openapi.json', ...before, async (request, response) => {
    if ((await callerOf(context, request)) === null) throw unauthorized();
    response.json(document);
  });
  mountWebConsole(router, before);
  mountBullBoard(router, context);
  router.use(unavailable);
  return router;
}

/** Hints of all tenants lie in one queue, so a token of one tenant may not look. */
function mountBullBoard(router: Router, context: ServiceContext): void {
  router.use('/bull', bullBoardHeaders());
  router.use(
    '/bull',
    createBullBoardRouter({
      bus: context.bus,
      queues: () => context.policy.currentOrNull()?.policy.queues.map((queue) => queue.id) ?? [],
      basePath: '/bull',
      jobUrl: (runId) => `/runs/${runId}`,
      authorise: async (request: Request) => {
        const caller = await callerOf(context, request);
        if (caller === null)
          return { allow: false, status: 401, message: 'Sign in at /login, or send a bearer token.' };
        if (caller.tenantId !== null || !mayAct(caller.role, 'viewer')) {
          return { allow: false, status: 403, message: 'This needs a token that is bound to no tenant.' };
        }
        return { allow: true };
      },
    }),
  );
}
