/** The logger of what is said about a run: by every name that it has at that moment (Q32). */
import { formatId, type LeaseId, type RunId, type RunSpec, type WorkerId } from '@headgate/domain';
import { type Logger, runLogger, traceIdOf } from '@headgate/telemetry';

interface NamedRun {
  readonly runId: RunId;
  readonly spec: Pick<RunSpec, 'tenant' | 'workKey'>;
  readonly traceparent: string | null;
}

interface ItsNames {
  /** Null: this worker has no row. */
  readonly workerId: WorkerId | null;
  /** From the claim on; one whose answer was lost may have taken it. */
  readonly leaseId?: LeaseId;
  /** Of a claimed run. */
  readonly attemptNo?: number;
}

export const aboutRun = (
  logger: Logger,
  { runId, spec, traceparent }: NamedRun,
  { workerId, leaseId, attemptNo }: ItsNames,
): Logger =>
  runLogger(logger, {
    tenant: spec.tenant,
    workKey: spec.workKey,
    runId: formatId('run', runId),
    traceId: traceIdOf(traceparent),
    ...(attemptNo === undefined ? {} : { attempt: attemptNo }),
    ...(leaseId === undefined ? {} : { leaseId: formatId('lease', leaseId) }),
    ...(workerId === null ? {} : { workerId: formatId('wkr', workerId) }),
  });
