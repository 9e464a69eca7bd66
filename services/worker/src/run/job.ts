/** One claimed run on its way: what it is, the lease it runs under, and what its steps may use. */
import type { SecretContext } from '@headgate/config';
import type { Clock, Ids } from '@headgate/domain';
import { type AttemptFolders, attemptFolders, type ChosenSandbox, type Runtime } from '@headgate/runtimes';
import type { DataPaths } from '@headgate/service';
import {
  type ActivePolicy,
  CommitUnknownError,
  isConnectionFault,
  isTransient,
  type Pool,
} from '@headgate/store';
import type { Logger } from '@headgate/telemetry';
import type { LeasedRun } from '../hints/claim-desk.js';
import type { HeldLease } from '../keeper/held-lease.js';
import type { LeaseKeeper } from '../keeper/keeper.js';
import type { WorkerTiming } from '../options.js';
import type { ArtifactShelf } from './artifact-shelf.js';
import { dropped, type Ending, endedWith } from './ending.js';
import type { StageWriter } from './stage-writer.js';

export interface RunParts {
  readonly pool: Pool;
  readonly paths: DataPaths;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly keeper: LeaseKeeper;
  readonly stages: StageWriter;
  readonly runtime: Runtime;
  readonly sandbox: ChosenSandbox;
  readonly timing: WorkerTiming;
  /** The policy in force now, read again. */
  readonly currentPolicy: () => Promise<ActivePolicy>;
  /** How long a push that was cut off may still land; null: that of the effects. */
  readonly settleMs: number | null;
  /** Where references to secrets in an observation are read. */
  readonly secrets: SecretContext;
}

export interface Job {
  readonly run: LeasedRun;
  readonly headSha: string | null;
  readonly lease: HeldLease;
  readonly actor: string;
  readonly folders: AttemptFolders;
  readonly artifacts: ArtifactShelf;
  readonly logger: Logger;
  readonly parts: RunParts;
  /** By which the attempt has to have started its agent, monotonic. */
  readonly startByMs: number;
}

export const foldersOf = (paths: DataPaths, run: LeasedRun): AttemptFolders =>
  attemptFolders({ workspacesDir: paths.workspaces, runId: run.runId, attempt: run.attemptNo });

/**
 * Asked before and after every step (Q5, Q15): may the attempt go on? Waits while the lease is in doubt. Null: yes.
 */
export async function stopOf(job: Job): Promise<Ending | null> {
  const stop = await job.lease.settled();
  switch (stop?.kind) {
    case undefined:
      return null;
    case 'gone':
      return dropped;
    case 'cancel':
      return endedWith({ kind: 'cancelled' }, { agentStopped: true });
    case 'hand-back':
      return endedWith({ kind: 'handed-back', reasonCode: 'WORKER_DRAINED', retryAfterMs: null });
  }
}

/** As `stopOf`, after all that the keeper's thread has said was heard: a killed agent is not a failed one. */
export async function stopAfterAgent(job: Job): Promise<Ending | null> {
  await job.parts.keeper.sync();
  return stopOf(job);
}

/** Whether the same write, or its read-back, may succeed a moment later. */
const mayPass = (fault: unknown): boolean =>
  fault instanceof CommitUnknownError || isConnectionFault(fault) || isTransient(fault);

/**
 * Writes while Postgres is away: again and again for as long as the lease is trusted; then the last fault is thrown.
 * For writes that may be repeated: each finds its own rows if an unanswered COMMIT took effect.
 */
export async function whileTrusted<T>(job: Job, write: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await write();
    } catch (fault) {
      if (!mayPass(fault) || job.lease.isGone) throw fault;
      await pause(job.parts.timing.retryMs);
    }
  }
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
