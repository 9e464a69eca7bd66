import { messageOf, type ReasonCode } from '@headgate/domain';
import { type Logger, metrics, testSignal } from '@headgate/telemetry';
import type { JobReport } from './job.js';

/** Tells of what one job did: metric, log line, test signal. The event in the database is the repair's own. */
export function reportOf(job: string, logger: Logger): JobReport {
  return {
    repaired: (reasonCode: ReasonCode, count, detail = {}) => {
      if (count === 0) return;
      metrics.repairs.add(count, { reason_code: reasonCode });
      logger.warn({ job, reasonCode, count, ...detail }, `repaired: ${messageOf(reasonCode)}`);
      testSignal('reconciler.repaired', { job, reasonCode, count });
    },
    refused: (fault, detail) => {
      metrics.jobFailures.add(1, { job });
      logger.error({ err: fault, job, ...detail }, 'a row cannot be repaired');
    },
  };
}
