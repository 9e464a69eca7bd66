/** Walks: page by page along one table, from its start to its end, then a rest of one period. */
import type { Misplacement, RunId } from '@headgate/domain';
import type { TickResult } from '@headgate/service';
import { findMisplaced, type Suspect, type WalkAlong } from '@headgate/store';
import type { JobParts } from '../job.js';

export interface WalkPlan {
  readonly along: WalkAlong;
  readonly concerns: (suspect: Suspect) => boolean;
  /** Proves and repairs. What it finds healthy under its locks it leaves alone. */
  readonly repair: (runIds: readonly RunId[]) => Promise<void>;
}

export const hasOneOf =
  (...wanted: readonly Misplacement[]) =>
  (suspect: Suspect): boolean =>
    suspect.misplacements.some((misplacement) => wanted.includes(misplacement));

export function walking({ context, timing, limit }: JobParts, plan: WalkPlan): () => Promise<TickResult> {
  let from: string | null = null;
  return async () => {
    const page = await context.database.service.use((c) =>
      findMisplaced(c, plan.along, { from, limit, admittedForMs: timing.lateMs }),
    );
    // Moved on before the repair: a page whose repair fails must not hold up those behind it.
    from = page.next;
    const suspects = page.suspects.filter(plan.concerns).map((suspect) => suspect.runId);
    if (suspects.length > 0) await plan.repair(suspects);
    return page.next === null ? 'idle' : 'busy';
  };
}
