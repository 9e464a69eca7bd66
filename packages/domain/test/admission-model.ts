/**
 * A database in miniature for the admission model tests: it applies writes to rows as the store does, and
 * loads the state again from the rows. Deliberately not built on `evolve`, which it is compared with.
 */
import {
  type AdmissionState,
  type AdmissionWrite,
  type Candidate,
  type Cause,
  type Decision,
  decideBatch,
  deliveryKey,
  type FirstDelivery,
  isTerminal,
  type KnownVersion,
  type Latch,
  type Lineage,
  type Maker,
  PLACE,
  type ReceiptId,
  type RunId,
  type RunStatus,
  rateKey,
  touchedSubjects,
  type VersionPoint,
  versionKey,
} from '../src/index.js';
import { aState, aTask, NOW, receiptIdOf, TASK_ID } from './builders.js';

/** Nothing that differs by the clock alone: a model's time is the order of its decisions. */
export const withoutClock = ({ guard, ...state }: AdmissionState) => ({
  ...state,
  tasks: new Map([...state.tasks].map(([key, task]) => [key, { ...task, chain: task.chain?.runs ?? null }])),
  started: new Map(guard?.started),
});

export interface RunRow extends VersionPoint {
  readonly lineage: Lineage;
  readonly at: Date;
  readonly cause: Cause | null;
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
  private latched: Candidate | null = null;
  private promotions = 0;
  private ticks = 0;
  readonly touched = new Map<string, Date>();
  /** Which version was made by which run: what a seal tells. */
  readonly makers = new Map<string, Maker>();

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
    const newest = this.runs.at(-1);
    const chain = newest === undefined ? null : { runs: newest.lineage.chainRuns, at: newest.at };
    const started = new Map<string, number>();
    for (const { cause } of this.runs) {
      for (const kind of ['target', 'actor'] as const) {
        const subject = cause?.[kind] ?? null;
        if (subject === null) continue;
        const key = rateKey('default', kind, subject);
        started.set(key, (started.get(key) ?? 0) + 1);
      }
    }
    return aState({
      guard: { makers: new Map(this.makers), touched: new Map(this.touched), started },
      deliveries: new Map(this.deliveries),
      queuedByTenant: new Map([['default', queued]]),
      task: aTask({ ...this.task, latest: this.latest, latch: this.latch, live, versions, chain }),
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

  /** A run seals a commit, unless it was there before. */
  make(pick: number, version: string): void {
    const run = this.runs[pick % Math.max(1, this.runs.length)];
    const isThere = this.runs.some((one) => one.inputVersion === version);
    if (run === undefined || isThere) return;
    const { runId, lineage } = run;
    this.makers.set(versionKey('default', version), {
      runId,
      hops: lineage.hops,
      rootReceiptId: lineage.rootReceiptId ?? `root of ${runId}`,
    });
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
          lineage: write.lineage,
          at: this.tick(),
          cause: write.candidate.cause ?? null,
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
      case 'touch':
        for (const { key } of touchedSubjects(write.candidate)) this.touched.set(key, this.tick());
        return;
      case 'feedback':
        return;
    }
  }

  private tick(): Date {
    this.ticks += 1;
    return new Date(NOW.getTime() - 1_000_000 + this.ticks);
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
