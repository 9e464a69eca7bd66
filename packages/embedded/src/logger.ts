/** The little of a pino logger that this package needs; any pino logger fits. */
export interface EmbeddedLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLogger: EmbeddedLogger = { info: () => {}, warn: () => {}, error: () => {} };
