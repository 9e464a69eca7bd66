/** The recorded signals of some days, decided again in memory. */
import { recordedSubmission } from '@headgate/admission';
import type { Policy } from '@headgate/domain';
import { type Pool, type RecordedReceipt, recordedReceipts } from '@headgate/store';
import { readActive } from './active.js';
import { reportOf, type SimulationReport } from './report.js';

/** Null: no policy is active. */
export async function simulateRecorded(
  pool: Pool,
  sinceMs: number,
  other: Policy | null,
): Promise<SimulationReport | null> {
  const read = await pool.use(async (c) => {
    const facts = await readActive(c);
    if (facts === null) return null;
    const since = new Date(facts.until.getTime() - sinceMs);
    const recorded: RecordedReceipt[] = [];
    for await (const one of recordedReceipts.read(c, since)) recorded.push(one);
    return { ...facts, since, recorded, lost: await recordedReceipts.lost(c, since) };
  });
  if (read === null) return null;
  const { recorded, ...facts } = read;
  // The same signals for both: one of a source that only one of them has is still read.
  const sources = [...(other?.sources ?? []), ...facts.active.policy.sources];
  return reportOf({
    ...facts,
    from: 'receipts',
    other,
    looks: [],
    arrivals: (policy) =>
      recorded.map((one) => {
        const submission = recordedSubmission(one, policy, [...policy.sources, ...sources]);
        return submission === null ? null : { at: one.receivedAt, submission };
      }),
  });
}
