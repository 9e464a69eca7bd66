/** Every background job of the reconciler, once (law 8). */
import type { Job } from './job.js';
import { deadWorkers, orphanLatches, overdueItems, overdueSignals } from './jobs/due.js';
import { untoldFeedback } from './jobs/feedback.js';
import { unresolvedHeads } from './jobs/heads.js';
import { missingHints, strayHints } from './jobs/hints.js';
import { forgetExpired, partitionsKept } from './jobs/housekeeping.js';
import { brokenLatches } from './jobs/latches.js';
import { unknownOperations } from './jobs/operations.js';
import { reapExpired } from './jobs/reap.js';
import {
  leasesOfEnded,
  lostAttempts,
  misplacedItems,
  passingRuns,
  strandedRuns,
  unleasedRuns,
} from './jobs/runs.js';

export const JOBS: readonly Job[] = [
  reapExpired,
  strandedRuns,
  unleasedRuns,
  passingRuns,
  misplacedItems,
  leasesOfEnded,
  lostAttempts,
  deadWorkers,
  missingHints,
  strayHints,
  orphanLatches,
  brokenLatches,
  overdueItems,
  overdueSignals,
  unknownOperations,
  unresolvedHeads,
  untoldFeedback,
  partitionsKept,
  forgetExpired,
];
