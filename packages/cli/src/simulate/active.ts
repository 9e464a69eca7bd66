/** What the database knows for a simulation: the policy in force, and how long and how dear runs were. */
import type { Connection } from '@headgate/store';
import { databaseNow, policies, recordedReceipts } from '@headgate/store';

const ESTIMATE_WINDOW_MS = 30 * 86_400_000;

/** Null: no policy is active. */
export async function readActive(c: Connection) {
  const active = await policies.head(c);
  if (active === null) return null;
  const until = await databaseNow(c);
  const estimates = await recordedReceipts.estimates(c, new Date(until.getTime() - ESTIMATE_WINDOW_MS));
  return { active, until, estimates };
}

export type ActiveFacts = NonNullable<Awaited<ReturnType<typeof readActive>>>;
