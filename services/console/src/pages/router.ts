/**
 * The console's pages: rendered here, readable without a script; a small script asks for the same page again every two
 * seconds and patches what differs. Only `/login` and the static files need no sign-in.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { MAX_REFERENCE_CHARACTERS, parseId } from '@headgate/domain';
import { HttpProblem, type ServiceContext } from '@headgate/service';
import type { RequestHandler, Response, Router } from 'express';
import { type Caller, callerOf, mayAct } from '../auth/index.js';
import { notFound } from '../http/index.js';
import { artifactAnswer, artifactFiles, inScope, runDetail, type WaitingReader } from '../queries/index.js';
import { explanationOf } from '../why/explanation.js';
import { type ApiDocument, docsPage } from './docs.js';
import { homePage } from './home.js';
import { homeFacts } from './home-facts.js';
import { type Html, html } from './html.js';
import { layout } from './layout.js';
import { loginPage } from './login.js';
import { runPage } from './run.js';
import { whyPage } from './why.js';

const ASSETS = {
  'console.css': 'text/css; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'login.js': 'text/javascript; charset=utf-8',
} as const;

const ASSETS_DIR = fileURLToPath(new URL('../../assets/', import.meta.url));

export function mountPages(
  router: Router,
  context: ServiceContext,
  waiting: WaitingReader,
  document: ApiDocument,
  before: readonly RequestHandler[],
): void {
  for (const [name, type] of Object.entries(ASSETS)) {
    router.get(`/assets/${name}`, ...before, async (_request, response) => {
      response.setHeader('cache-control', 'no-cache');
      response.type(type).send(await readFile(`${ASSETS_DIR}${name}`));
    });
  }
  router.get('/login', ...before, (_request, response) => {
    send(
      response,
      200,
      layout({ title: 'Sign in', main: loginPage(), caller: null, script: 'login.js', isLive: false }),
    );
  });
  const page = (
    path: string,
    make: (caller: Caller, request: Parameters<RequestHandler>[0]) => Promise<PageAnswer>,
  ) =>
    router.get(path, ...before, async (request, response) => {
      const caller = await callerOf(context, request);
      if (caller === null) {
        response.setHeader('cache-control', 'no-store');
        response.redirect(303, `/login?next=${encodeURIComponent(request.originalUrl)}`);
        return;
      }
      const {
        status = 200,
        title,
        main,
        ref,
        isLive = true,
      } = await make(caller, request).catch(problemAnswer);
      send(response, status, layout({ title, main, caller, isLive, ...(ref === undefined ? {} : { ref }) }));
    });

  page('/', async (caller) => ({
    title: 'Runs',
    main: homePage(await inScope(context, caller, (c) => homeFacts(context, caller, c, waiting))),
  }));
  page('/runs/:id', async (caller, request) => {
    const shown = String(request.params['id']);
    const id = parseId('run', shown);
    if (id === null) throw notFound(`Run ${shown}`);
    return inScope(context, caller, async (c) => {
      const run = await runDetail(c, waiting, id);
      if (run === null) throw notFound(`Run ${shown}`);
      const artifacts = (await artifactFiles(c, id)).map((file) => artifactAnswer(id, file));
      return {
        title: `${run.route} ${run.publicStatus}`,
        main: runPage({ run, artifacts, mayAct: mayAct(caller.role, 'operator') }),
      };
    });
  });
  page('/why', async (caller, request) => {
    const asked = request.query['ref'];
    const ref =
      typeof asked === 'string'
        ? asked.replaceAll('\u0000', '').trim().slice(0, MAX_REFERENCE_CHARACTERS)
        : '';
    if (ref === '') return { title: 'Why', main: whyPage(null), isLive: false };
    const explanation = await inScope(context, caller, (c) =>
      explanationOf(context, caller, c, waiting, ref),
    );
    return { title: `Why ${ref}`, main: whyPage(explanation), ref };
  });
  page('/docs', async () => ({ title: 'API', main: docsPage(document), isLive: false }));
}

/** For people too: what it is, and what to do. */
function problemAnswer(fault: unknown): PageAnswer {
  if (!(fault instanceof HttpProblem)) throw fault;
  const { status, title, detail, code } = fault.problem;
  return {
    status,
    title,
    main: html`<h1>${title}</h1><p>${detail}</p><p class="quiet">${code}</p>`,
    isLive: false,
  };
}

interface PageAnswer {
  readonly status?: number;
  readonly title: string;
  readonly main: Html;
  readonly ref?: string;
  readonly isLive?: boolean;
}

function send(response: Response, status: number, text: string): void {
  response.setHeader('cache-control', 'no-store');
  response.status(status).type('html').send(text);
}
