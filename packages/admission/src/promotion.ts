/** A deferred signal whose time has come, as the submission it is promoted by. */
import type { Signal, Verdict } from '@headgate/domain';
import type { ActivePolicy, DeferredRow } from '@headgate/store';
import { reviveDeferred, type Submission } from './submission.js';

export function promotionOf(row: DeferredRow, active: ActivePolicy): Submission {
  const kept = reviveDeferred(row.candidate);
  // The row's tenant, not the text beside it: a tenant may have been renamed in the configuration, its row stays.
  const tenant = [...active.tenantIds].find(([, id]) => id === row.tenantId)?.[0] ?? kept.tenant;
  const isLatch = row.reasonCode === 'QUEUED_NEXT' && row.taskId !== null && kept.workKey !== null;
  return {
    signal: kept.signal,
    tenant,
    payload: null,
    work: kept.work,
    directive: kept.directive,
    again: kept.again,
    observe: kept.observe,
    headStartSeconds: kept.headStartSeconds,
    beside: kept.beside,
    replays: kept.replays,
    promotes: {
      deferredId: row.id,
      parentReceiptId: row.receiptId,
      reasonCode: row.reasonCode,
      route: kept.route,
      wake: kept.isWake ? 'unread' : 'none',
      latch: isLatch ? { taskId: row.taskId, tenant, workKey: kept.workKey } : null,
    },
  };
}

/** A deferred signal, and what was read for it at its source. */
export interface ReadSignal {
  readonly row: DeferredRow;
  /** Absent: nothing was read, and the verdict says why. */
  readonly signal?: Signal;
  readonly verdict?: Verdict | null;
}

export function readPromotionOf(
  { row, signal, verdict = null }: ReadSignal,
  active: ActivePolicy,
): Submission {
  const submission = promotionOf(row, active);
  const { promotes } = submission;
  if (signal === undefined || promotes == null) return { ...submission, verdict };
  const wake = promotes.wake === 'unread' ? 'read' : promotes.wake;
  return { ...submission, signal, verdict, promotes: { ...promotes, wake } };
}
