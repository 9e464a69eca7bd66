/** Requests that no person answered in time. */
import { approvals, expireApprovals } from '@headgate/store';
import type { Job } from '../job.js';
import { halving } from '../one-bad-row.js';

export const expiredApprovals: Job = {
  name: 'expired-approvals',
  repairs: 'A person was asked and has not answered in time: the run ends, and can be retried.',
  reasonCodes: [],
  period: 'repair',
  limit: 100,
  make:
    ({ context, actor, limit, report }) =>
    async () => {
      const pool = context.database.service;
      const overdue = await pool.use((c) => approvals.overdue(c, limit));
      const ended = await halving(
        overdue,
        (part) => expireApprovals(pool, part, actor),
        (fault, run) => report.refused(fault, { run }),
      );
      if (ended.length > 0) context.logger.info({ runs: ended }, 'nobody answered in time');
      return overdue.length >= limit ? 'busy' : 'idle';
    },
};
