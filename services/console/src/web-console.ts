/**
 * Serves the built web console (packages/console-web). Its files carry the hash of their content in their names and never
 * change; the page that names them is asked for anew each time. They hold no data and need no sign-in: what is shown
 * comes from the API.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { HttpProblem } from '@headgate/service';
import express, { type RequestHandler, type Router } from 'express';

/** Paths at which the page answers; the page itself knows what to show there. */
const PAGES = [
  '/',
  '/login',
  // Shows the runs, like `/`: who cuts a run's address short means them.
  '/runs',
  '/runs/:id',
  '/why',
  '/receipts',
  '/schedules',
  '/schedules/:id',
  '/goals',
  '/goals/:id',
  '/demo',
  '/demo/:delivery',
  '/docs',
];

const BUILT = join(
  dirname(createRequire(import.meta.url).resolve('@headgate/console-web/package.json')),
  'dist',
);
const INDEX = join(BUILT, 'index.html');
const YEAR_MS = 365 * 24 * 3_600_000;

export function mountWebConsole(router: Router, before: readonly RequestHandler[]): void {
  router.use(
    '/assets',
    ...before,
    express.static(join(BUILT, 'assets'), {
      immutable: true,
      maxAge: YEAR_MS,
      index: false,
      redirect: false,
      dotfiles: 'ignore',
    }),
  );
  router.get(PAGES, ...before, (_request, response, next) => {
    if (!existsSync(INDEX)) throw notBuilt();
    response.sendFile(INDEX, { cacheControl: false, headers: { 'cache-control': 'no-store' } }, (fault) => {
      if (fault !== undefined && !response.headersSent) next(fault);
    });
  });
}

const notBuilt = (): HttpProblem =>
  new HttpProblem({
    status: 503,
    code: 'NOT_BUILT',
    title: 'The web console is not built.',
    detail: 'Run npm start, or `pnpm build`. The API answers without it.',
  });
