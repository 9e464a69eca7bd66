/**
 * Bull Board over the hint queues, for looking.
 *
 * What lies there are hints: a retry, promotion or removal in the board changes when somebody looks at a run and
 * nothing else. Operators act on runs through the API; so the board is read-only unless told otherwise, and that
 * is held here, on the server, whatever buttons the page shows.
 *
 * The page runs under `BULL_BOARD_CSP`. It needs no `upgrade-insecure-requests` (assets would fail over plain http).
 */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import { BullBus } from './bullmq-bus.js';
import { hintDataSchema } from './hint.js';
import type { HintBus } from './hint-bus.js';
import { queueNameOf } from './names.js';

export type BoardVerdict =
  | { readonly allow: true }
  | { readonly allow: false; readonly status: 401 | 403 | 404; readonly message: string };

export interface BullBoardOptions {
  readonly bus: HintBus;
  /** Queue ids of the configuration, asked at each request: a reload of the configuration shows at once. */
  readonly queues: () => readonly string[];
  /** As the browser sees it, e.g. `/bull`; the same path the router is mounted at. */
  readonly basePath: string;
  /** Default true: everything but GET and HEAD is answered 405. */
  readonly readOnly?: boolean;
  /** Whether this request may look (`read`) or act (`write`). Asked for each request, static files included. */
  readonly authorise: (request: Request, action: 'read' | 'write') => BoardVerdict | Promise<BoardVerdict>;
  /** Where the console shows a run, given its TypeID (`run_…`). */
  readonly jobUrl: (runId: string) => string;
}

/**
 * The Content-Security-Policy of the page, for helmet's `contentSecurityPolicy: { useDefaults: false, directives }`.
 * No other host: the fonts that the page would load from elsewhere are left out. Styles are inline.
 */
export const BULL_BOARD_CSP = {
  'default-src': ["'self'"],
  'script-src': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
  'img-src': ["'self'", 'data:'],
  'font-src': ["'self'"],
  'connect-src': ["'self'"],
  'object-src': ["'none'"],
  'base-uri': ["'self'"],
  'form-action': ["'self'"],
  'frame-ancestors': ["'self'"],
} as const;

/** The board's router, to be mounted at `basePath`. */
export function createBullBoardRouter(options: BullBoardOptions): Router {
  const router = express.Router();
  router.use(guard(options));
  router.use(options.bus instanceof BullBus ? board(options, options.bus) : explainAbsence);
  return router;
}

/** First who asks, then what: a stranger learns nothing about the board. */
function guard(options: BullBoardOptions) {
  const readOnly = options.readOnly ?? true;
  return async (request: Request, response: Response, next: NextFunction) => {
    const action = request.method === 'GET' || request.method === 'HEAD' ? 'read' : 'write';
    const verdict = await options.authorise(request, action);
    if (!verdict.allow) {
      response.status(verdict.status).json({ error: verdict.message });
    } else if (action === 'write' && readOnly) {
      response.status(405).set('Allow', 'GET, HEAD').json({ error: READ_ONLY });
    } else {
      next();
    }
  };
}

const READ_ONLY = 'Bull Board is read-only. Retry or cancel the run in the console; a hint decides nothing.';

function board(options: BullBoardOptions, bus: BullBus): Router {
  const readOnly = options.readOnly ?? true;
  const server = new OfflineExpressAdapter();
  server.setBasePath(options.basePath);
  const { replaceQueues } = createBullBoard({
    queues: [],
    serverAdapter: server,
    options: {
      uiConfig: {
        boardTitle: 'Headgate hints',
        miscLinks: [{ text: 'Headgate console', url: '/' }],
        pollingInterval: { forceInterval: POLL_SECONDS },
        hideDocsLink: true,
        hideRedisDetails: true,
        showWorkers: false,
      },
      handlerHooks: {
        // The second fence behind the guard: whatever routes a later board may add.
        before: ({ method }) => {
          if (method === 'get' || !readOnly) return { allow: true };
          return { allow: false, status: 405, message: READ_ONLY };
        },
      },
    },
  });

  let shown = '';
  const showQueues = () => {
    const queueKeys = [...new Set(options.queues())];
    const wanted = queueKeys.map(queueNameOf).join(' ');
    if (wanted === shown) return;
    replaceQueues(queueKeys.map((queueKey) => adapterOf(options, bus, queueKey, readOnly)));
    shown = wanted;
  };

  const router = express.Router();
  router.use((_request, _response, next) => {
    showQueues();
    next();
  });
  router.use('/api', async (_request, response, next) => {
    // Within bounds also while Redis is down or frozen, and on a bus that has not connected yet.
    const answer = await bus.ping();
    if (answer.ok) next();
    else response.status(503).json({ error: answer.message });
  });
  router.use(server.getRouter());
  return router;
}

/** About 15 Redis commands per queue and poll, for each open tab. */
const POLL_SECONDS = 10;

function adapterOf(options: BullBoardOptions, bus: BullBus, queueKey: string, readOnlyMode: boolean) {
  return new BullMQAdapter(bus.queues.of(queueKey), {
    readOnlyMode,
    allowRetries: !readOnlyMode,
    displayName: queueKey,
    description: 'Hints: which runs were dispatched to this queue. Postgres decides.',
    externalJobUrl: (job) => {
      const hint = hintDataSchema.safeParse(job.data);
      return hint.success
        ? { href: options.jobUrl(hint.data.runId), displayText: 'Run in Headgate' }
        : { href: options.basePath, displayText: 'Not a hint' };
    },
  });
}

/** The adapter without the stylesheet of fonts that its page asks of another host. */
class OfflineExpressAdapter extends ExpressAdapter {
  override setEntryRoute(entry: Parameters<ExpressAdapter['setEntryRoute']>[0]): ExpressAdapter {
    this.app.get(entry.route, (_request: Request, response: Response, next: NextFunction) => {
      const { name, params } = entry.handler({ basePath: this.basePath, uiConfig: this.uiConfig });
      response.render(name, params, (error: Error | null, html: string) => {
        if (error) next(error);
        else response.type('html').send(html.replace(EXTERNAL_STYLESHEET, ''));
      });
    });
    return this;
  }
}

const EXTERNAL_STYLESHEET = /<link\b[^>]*\bhref="https?:\/\/[^"]*"[^>]*>/g;

function explainAbsence(_request: Request, response: Response): void {
  response
    .status(503)
    .type('text')
    .send('There is no Redis here (REDIS_URL), so there are no hints to show. Workers poll the database.\n');
}
