/** Side effects of ended runs whose outcome is unknown: read, never called again (INV-EF3). */
import { type ResolveResult, resolveAmbiguous } from '@headgate/effects';
import { createLedger, operations, runEvents, type UnsettledOperation } from '@headgate/store';
import { metrics } from '@headgate/telemetry';
import type { Job, JobParts } from '../job.js';

/** Of one read of the provider. */
const READ_TIMEOUT_MS = 10_000;
/** Reads under way at once: one slow provider must not hold up all others. */
const AT_ONCE = 4;

export const unknownOperations: Job = {
  name: 'unknown-operations',
  repairs: 'A run ended while the outcome of one of its side effects was unknown.',
  reasonCodes: ['REPAIR_OPERATION_RESOLVED'],
  period: 'repair',
  limit: 20,
  make: (parts) => async () => {
    const { context, timing, limit } = parts;
    const waiting = await context.database.service.use((c) =>
      operations.unsettled(c, timing.operationReadMs, limit),
    );
    const queue = [...waiting];
    const readers = Array.from({ length: AT_ONCE }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await resolve(parts, next);
    });
    await Promise.all(readers);
    return waiting.length >= limit ? 'busy' : 'idle';
  },
};

async function resolve(parts: JobParts, operation: UnsettledOperation): Promise<void> {
  const { report } = parts;
  const about = { operation: operation.key, run: operation.runId };
  try {
    const result = await read(parts, operation);
    if (result.kind === 'resolved') await tell(parts, operation, result);
    else if (result.kind === 'unreadable') report.refused(new Error(result.detail), about);
  } catch (fault) {
    report.refused(fault, about);
  }
}

function read({ context, timing, actor }: JobParts, operation: UnsettledOperation): Promise<ResolveResult> {
  const { ids, database } = context;
  const ledger = createLedger(database.service, { tenantId: operation.tenantId, ids, actor });
  return resolveAmbiguous({ ledger, operation, settleMs: timing.settleMs, timeoutMs: READ_TIMEOUT_MS });
}

async function tell(
  { context, actor, report }: JobParts,
  { key, kind, runId, tenantId, taskId }: UnsettledOperation,
  { operation }: Extract<ResolveResult, { kind: 'resolved' }>,
): Promise<void> {
  await context.database.service.use((c) =>
    runEvents.append(c, [
      {
        tenantId,
        runId,
        taskId,
        type: 'repair.operation_resolved',
        reasonCode: 'REPAIR_OPERATION_RESOLVED',
        actor,
        data: { key, state: operation.state },
      },
    ]),
  );
  metrics.operationTransitions.add(1, { kind, state: operation.state });
  report.repaired('REPAIR_OPERATION_RESOLVED', 1, { operation: key, state: operation.state });
}
