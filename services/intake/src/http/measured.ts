import { metrics } from '@headgate/telemetry';
import type { RequestHandler } from 'express';

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;

/** Times the requests of one route, from the head of the request to the end of the answer. */
export function measured(route: string): RequestHandler {
  return (request, response, next) => {
    const startedAt = performance.now();
    response.once('finish', () => {
      const method = request.method === 'POST' ? 'POST' : 'other';
      const status_class = CLASSES[Math.floor(response.statusCode / 100) - 1] ?? '5xx';
      metrics.httpDuration.record((performance.now() - startedAt) / 1000, { method, route, status_class });
    });
    next();
  };
}
