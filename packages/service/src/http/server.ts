/** The HTTP edge of a process: one Express app, the routers of its services, problem details at the end. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '@headgate/telemetry';
import express, { type Router } from 'express';
import { problemHandler, sendProblem } from './problem.js';

export interface HttpEdge {
  readonly url: string;
  readonly port: number;
  /** Stops accepting, ends idle connections, waits for the others, bounded. */
  close(): Promise<void>;
}

export interface HttpEdgeOptions {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly routers: readonly Router[];
  readonly logger: Logger;
}

const CLOSE_MS = 3_000;

export async function listen(options: HttpEdgeOptions): Promise<HttpEdge> {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  for (const router of options.routers) app.use(router);
  app.use((request, response) => {
    sendProblem(response, {
      status: 404,
      code: 'NOT_FOUND',
      title: 'There is nothing here.',
      detail: `${request.method} ${request.path} is not part of the API; see /openapi.json.`,
    });
  });
  app.use(problemHandler(options.logger));
  const server = createServer(app);
  await bind(server, options);
  const { port } = server.address() as AddressInfo;
  const shown = options.host.includes(':') ? `[${options.host}]` : options.host;
  return { url: `http://${shown}:${port}`, port, close: () => end(server) };
}

function bind(server: Server, { host, port }: HttpEdgeOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function end(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
