import { type Logger, pino } from 'pino';

export type { Logger };

/** JSON lines on stderr; level from LOG_LEVEL (default info). Children carry the identity fields of a run. */
export function createLogger(service: string): Logger {
  return pino({ name: service, level: process.env['LOG_LEVEL'] ?? 'info' }, pino.destination(2));
}
