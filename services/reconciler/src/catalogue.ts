/** Every background job of the reconciler, once (law 8). */
import type { Job } from './job.js';
import { expiredApprovals } from './jobs/approvals.js';
import { deadWorkers, orphanLatches, overdueItems, overdueSignals } from './jobs/due.js';
import { untoldFeedback } from './jobs/feedback.js';
import { unresolvedHeads } from './jobs/heads.js';
import { missingHints, strayHints } from './jobs/hints.js';
import {
  forgetExpired,
  forgetUnseen,
  historyTrimmed,
  partitionsKept,
  signalsTrimmed,
} from './jobs/housekeeping.js';
import { brokenLatches } from './jobs/latches.js';
import { unknownOperations } from './jobs/operations.js';
import { reapExpired } from './jobs/reap.js';
import { redeliverFailed } from './jobs/redeliver.js';
import { awaitedFiles } from './jobs/repository-files.js';
import {
  leasesOfEnded,
  lostAttempts,
  misplacedItems,
  passingRuns,
  strandedRuns,
  unleasedRuns,
} from './jobs/runs.js';
import { sourceScan } from './jobs/scan.js';

export const JOBS: readonly Job[] = [
  awaitedFiles,
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
  expiredApprovals,
  unknownOperations,
  unresolvedHeads,
  untoldFeedback,
  sourceScan,
  redeliverFailed,
  partitionsKept,
  forgetExpired,
  forgetUnseen,
  historyTrimmed,
  signalsTrimmed,
];
