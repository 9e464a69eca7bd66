/**
 * A database in miniature for the admission model tests: it applies writes to rows as the store does, and
 * loads the state again from the rows. Deliberately not built on `evolve`, which it is compared with.
 */
import {
  type AdmissionState,
  type AdmissionWrite,
  type Candidate,
  type Decision,
  decideBatch,
  deliveryKey,
  type FirstDelivery,
  isTerminal,
  type KnownVersion,
  type Latch,
  PLACE,
  type ReceiptId,
  type RunId,
  type RunStatus,
  type VersionPoint,
  type WaitingVersion,
} from '../src/index.js';
import { aState, aTask, NOW, receiptIdOf, TASK_ID } from './builders.js';

export interface RunRow extends VersionPoint {
  readonly runId: RunId;
  readonly generation: number;
  readonly publication: number;
  status: RunStatus;
}

export class ModelStore {
  readonly deliveries = new Map<string, FirstDelivery>();
  readonly runs: RunRow[] = [];
  readonly decisions: Decision[] = [];
  task = { generation: 1, publication: 1, cancelled: false };
  latest: VersionPoint | null = null;
  latch: Latch | null = null;
  debounced: readonly WaitingVersion[] = [];
  private latched: Candidate | null = null;
  private promotions = 0;

  load(): AdmissionState {
    const versions = new Map<string, KnownVersion>();
    for (const run of this.runs) {
      const known = versions.get(run.inputVersion);
      if (known !== undefined && known.generation > run.generation) continue;
      versions.set(run.inputVersion, {
        runId: run.runId,
        generation: run.generation,
        outcome: isTerminal(run.status) ? run.status : null,
      });
    }
    const live = this.runs
      .filter((run) => !isTerminal(run.status))
      .map(({ runId, generation, inputVersion, sourceAt, parentVersions, status }) => ({
        runId,
        generation,
        inputVersion,
        sourceAt,
        parentVersions,
        status,
      }));
    const queued = live.filter((run) => run.status === 'QUEUED').length;
    return aState({
      deliveries: new Map(this.deliveries),
      queuedByTenant: new Map([['default', queued]]),
      task: aTask({
        ...this.task,
        latest: this.latest,
        latch: this.latch,
        debounced: this.debounced,
        live,
        versions,
      }),
      now: NOW,
    });
  }

  /** One transaction: load, decide, write. */
  intake(candidates: readonly Candidate[]): readonly Decision[] {
    const decisions = decideBatch(this.load(), candidates);
    for (const decision of decisions) this.write(decision);
    return decisions;
  }

  /** A run ends; whatever waits in the latch is released through the insert path. */
  end(run: RunRow, outcome: RunStatus): void {
    run.status = run.status === 'CANCEL_REQUESTED' ? 'CANCELLED' : outcome;
    this.release();
  }

  cancelTask(): void {
    this.task.cancelled = true;
    this.latch = null;
    for (const run of this.live()) this.stop(run, 'CANCELLED');
  }

  live(): readonly RunRow[] {
    return this.runs.filter((run) => !isTerminal(run.status));
  }

  private release(): void {
    if (this.latch === null || this.latched === null) return;
    this.promotions += 1;
    const name = `promotion-${this.promotions}`;
    this.intake([
      {
        ...this.latched,
        receiptId: receiptIdOf(name) as ReceiptId,
        runId: `run-${name}` as RunId,
        parentReceiptId: this.latch.receiptId,
      },
    ]);
  }

  private write(decision: Decision): void {
    this.decisions.push(decision);
    const { candidate, runId, taskId } = decision;
    const key = deliveryKey(candidate.signal);
    if (candidate.parentReceiptId === null && !this.deliveries.has(key)) {
      this.deliveries.set(key, { receiptId: candidate.receiptId, runId, taskId });
    }
    for (const write of decision.writes) this.apply(write);
  }

  private apply(write: AdmissionWrite): void {
    switch (write.kind) {
      case 'admit':
        this.runs.push({
          runId: write.runId,
          generation: write.generation,
          publication: write.publication,
          inputVersion: write.candidate.work?.inputVersion ?? '',
          sourceAt: write.candidate.signal.sourceAt,
          parentVersions: write.candidate.signal.parentVersions,
          status: write.status,
        });
        return;
      case 'supersede':
        this.stop(this.run(write.runId), 'SUPERSEDED');
        return;
      case 'cancel':
        this.stop(this.run(write.runId), 'CANCELLED');
        return;
      case 'latch':
        this.latch = write.latch;
        this.latched = write.candidate;
        return;
      case 'latest': {
        const { inputVersion, sourceAt, parentVersions } = write;
        this.latest = { inputVersion, sourceAt, parentVersions };
        return;
      }
      case 'task': {
        const { generation, publication, cancelled } = write;
        this.task = { generation, publication, cancelled };
        return;
      }
      case 'attach':
        if (write.taskId !== TASK_ID) throw new Error('attached to a task that does not exist');
        return;
      case 'defer':
        return;
      case 'debounce':
        this.debounced = [
          ...this.debounced.filter(({ deferredId }) => deferredId !== write.replaces),
          {
            deferredId: write.candidate.deferredId,
            receiptId: write.candidate.receiptId,
            route: write.candidate.route?.id ?? '',
            since: write.since,
            inputVersion: write.candidate.work?.inputVersion ?? '',
            sourceAt: write.candidate.signal.sourceAt,
            parentVersions: write.candidate.signal.parentVersions,
          },
        ];
        return;
    }
  }

  private run(runId: RunId): RunRow {
    const run = this.runs.find((row) => row.runId === runId);
    if (run === undefined) throw new Error('the decision names a run that does not exist');
    return run;
  }

  private stop(run: RunRow, ending: RunStatus): void {
    if (ending === 'SUPERSEDED' && run.status === 'FINALIZING') return;
    run.status = PLACE[run.status] === 'lease' ? 'CANCEL_REQUESTED' : ending;
  }
}
