/** JSON lines on stderr. Every line passes the redaction; a line inside a span names its trace. */
import { trace } from '@opentelemetry/api';
import { type DestinationStream, type Logger, levels, pino } from 'pino';
import { redactJsonLine } from './redaction.js';

export type { Logger };

/** The identity every line about a run carries. Ids are written as they stand, in the form the caller shows them. */
export interface RunIdentity {
  readonly tenant?: string | number;
  readonly workKey?: string;
  readonly runId?: string;
  readonly attempt?: number;
  readonly leaseId?: string;
  readonly workerId?: string;
  /** The trace that admitted the run. A line inside a span also carries that span's own `trace_id`. */
  readonly traceId?: string | null;
}

export interface LoggerOptions {
  /** Defaults to LOG_LEVEL, then `info`. */
  readonly level?: string;
  /** Where redacted lines go; stderr by default, written synchronously so that a crash keeps its last words. */
  readonly destination?: DestinationStream;
}

const levelNames: readonly string[] = [...Object.values(levels.labels), 'silent'];

function chosenLevel(requested: string | undefined): string {
  const level = requested ?? process.env['LOG_LEVEL'] ?? '';
  if (level === '') return 'info';
  if (levelNames.includes(level)) return level;
  throw new Error(`LOG_LEVEL is "${level}"; it must be one of ${levelNames.join(', ')}.`);
}

function activeTrace(): Record<string, string> {
  const span = trace.getActiveSpan()?.spanContext();
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
}

/** A logger named after its service. Children carry the identity fields of a run: `runLogger`. */
export function createLogger(service: string, options: LoggerOptions = {}): Logger {
  const destination = options.destination ?? pino.destination({ fd: 2, sync: true });
  return pino(
    { name: service, level: chosenLevel(options.level), mixin: activeTrace },
    { write: (line: string) => destination.write(redactJsonLine(line)) },
  );
}

/** A child whose every line says which run, attempt, lease and worker it is about. */
export function runLogger(logger: Logger, identity: RunIdentity): Logger {
  const known = Object.entries(identity).filter(([, value]) => value !== undefined && value !== null);
  return logger.child(Object.fromEntries(known));
}
