/**
 * What a policy would have done with signals that are known: decided by the code that decides them in earnest, over a
 * state in memory. Nothing is read, written or started.
 *
 * Time is the signals' own. A run starts when it is admitted and takes as long as its route's runs do; a debounced or
 * latched signal is decided when its time comes. Not simulated: capacity and budgets, `.headgate.yaml` (every
 * repository is taken as having none), and pull requests that people leave open: for `maxOpenPullRequests` only runs
 * under way count.
 */
import {
  type AdmissionDraft,
  type Candidate,
  type Decision,
  type DeferredId,
  decideOne,
  draftOf,
  evolveDraft,
  type Ids,
  isAnsweredOnce,
  type Policy,
  type ReasonCode,
  type RoutePolicy,
  type RunId,
  taskKey,
} from '@headgate/domain';
import { type Prepared, prepare } from '../prepare.js';
import type { Promotion, Submission } from '../submission.js';
import { Agenda } from './agenda.js';

export interface Arrival {
  readonly at: Date;
  readonly submission: Submission;
}

export interface SimulationOptions {
  readonly policy: Policy;
  readonly ids: Ids;
  /** Nothing that would happen later is looked at. */
  readonly until: Date;
  readonly durationMs: (route: RoutePolicy) => number;
}

/** One decision, by the signal that led to it. */
export interface Simulated {
  /** Position of its signal among the arrivals. */
  readonly arrival: number;
  readonly at: Date;
  readonly route: string | null;
  readonly reasonCode: ReasonCode;
  readonly outcome: Decision['outcome'];
  readonly message: string;
  /** The run that it made. */
  readonly run: SimulatedRun | null;
}

export interface SimulatedRun {
  readonly route: RoutePolicy;
  readonly tenant: string;
  readonly workKey: string;
  readonly repository: string | null;
}

type Event =
  | { readonly kind: 'signal'; readonly arrival: number; readonly submission: Submission }
  | { readonly kind: 'end'; readonly task: string; readonly runId: RunId };

export function simulate(arrivals: readonly Arrival[], options: SimulationOptions): readonly Simulated[] {
  return new Simulation(options).run(arrivals);
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #agenda = new Agenda<Event>();
  readonly #replaced = new Set<DeferredId>();
  /** Signals that wait behind a run, by task. */
  readonly #latched = new Map<string, { readonly arrival: number; readonly submission: Submission }>();
  readonly #decided: Simulated[] = [];
  #state: AdmissionDraft;

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.#state = draftOf({
      deliveries: new Map(),
      tasks: new Map(),
      queuedByTenant: new Map(),
      openByRepository: new Map(),
      now: new Date(0),
    });
  }

  run(arrivals: readonly Arrival[]): readonly Simulated[] {
    for (const [arrival, { at, submission }] of arrivals.entries()) {
      this.#agenda.add(at, { kind: 'signal', arrival, submission });
    }
    for (let next = this.#agenda.next(); next !== null; next = this.#agenda.next()) {
      if (next.at.getTime() > this.#options.until.getTime()) break;
      this.#state = { ...this.#state, now: next.at };
      if (next.event.kind === 'end') this.#end(next.event, next.at);
      else this.#signal(next.event, next.at);
    }
    return this.#decided;
  }

  #signal({ arrival, submission }: Event & { kind: 'signal' }, at: Date): void {
    const { promotes } = submission;
    if (promotes != null && this.#replaced.has(promotes.deferredId)) return;
    let isAnswered = false;
    for (const prepared of prepare(submission, this.#options.policy, this.#options.ids)) {
      const { candidate } = prepared;
      if (candidate.isFurtherRoute && isAnswered) continue;
      this.#makeTask(candidate);
      const decision = decideOne(this.#state, candidate);
      evolveDraft(this.#state, decision);
      if (!candidate.isFurtherRoute) isAnswered = isAnsweredOnce(decision);
      this.#note(arrival, at, prepared, decision);
    }
  }

  #makeTask({ work, tenant, taskId }: Candidate): void {
    if (work === null) return;
    const key = taskKey(tenant.id, work.workKey);
    if (this.#state.tasks.has(key)) return;
    this.#state.tasks.set(key, {
      taskId,
      generation: 1,
      publication: 1,
      cancelled: false,
      latest: null,
      latch: null,
      debounced: [],
      hasOpenPublication: false,
      live: [],
      versions: new Map(),
    });
  }

  #note(arrival: number, at: Date, prepared: Prepared, decision: Decision): void {
    const { candidate } = decision;
    let run: SimulatedRun | null = null;
    for (const write of decision.writes) {
      switch (write.kind) {
        case 'admit': {
          const { route, work } = candidate;
          if (route === null || work === null) break;
          const { tenant, signal } = candidate;
          const repository = signal.repository?.fullName ?? null;
          run = { route, tenant: tenant.id, workKey: work.workKey, repository };
          const endsAt = new Date(at.getTime() + this.#options.durationMs(route));
          const task = taskKey(tenant.id, work.workKey);
          this.#agenda.add(endsAt, { kind: 'end', task, runId: write.runId });
          break;
        }
        case 'debounce':
          if (write.replaces !== null) this.#replaced.add(write.replaces);
          this.#wait(arrival, write.dueAt, prepared, 'DEBOUNCED');
          break;
        case 'defer':
          this.#wait(arrival, write.dueAt, prepared, write.reasonCode);
          break;
        case 'latch': {
          const key = taskKey(candidate.tenant.id, candidate.work?.workKey ?? '');
          if (write.latch === null) this.#latched.delete(key);
          else this.#latched.set(key, { arrival, submission: promotedBy(prepared, 'QUEUED_NEXT') });
          break;
        }
        default:
          break;
      }
    }
    this.#decided.push({
      arrival,
      at,
      route: candidate.route?.id ?? null,
      reasonCode: decision.reasonCode,
      outcome: decision.outcome,
      message: decision.message,
      run,
    });
  }

  #wait(arrival: number, dueAt: Date, prepared: Prepared, reasonCode: ReasonCode): void {
    this.#agenda.add(dueAt, { kind: 'signal', arrival, submission: promotedBy(prepared, reasonCode) });
  }

  /** The run succeeds, if it was not ended by another's admission before. */
  #end({ task: key, runId }: Event & { kind: 'end' }, at: Date): void {
    const task = this.#state.tasks.get(key);
    const run = task?.live.find((live) => live.runId === runId);
    if (task === undefined || run === undefined) return;
    const versions = new Map(task.versions);
    const known = versions.get(run.inputVersion);
    if (known?.runId === runId) versions.set(run.inputVersion, { ...known, outcome: 'SUCCEEDED' });
    const live = task.live.filter((one) => one.runId !== runId);
    this.#state.tasks.set(key, { ...task, live, versions });
    const waiting = this.#latched.get(key);
    if (waiting !== undefined && live.length === 0) this.#agenda.add(at, { kind: 'signal', ...waiting });
  }
}

function promotedBy(prepared: Prepared, reasonCode: ReasonCode): Submission {
  const { candidate, submission } = prepared;
  const { work } = candidate;
  const isLatch = reasonCode === 'QUEUED_NEXT' && work !== null;
  const promotes: Promotion = {
    deferredId: candidate.deferredId,
    parentReceiptId: candidate.receiptId,
    reasonCode,
    route: candidate.route?.id ?? null,
    // What was recorded stands for what would have been read.
    wake: prepared.isWake ? 'read' : 'none',
    latch: isLatch ? { taskId: candidate.taskId, tenant: candidate.tenant.id, workKey: work.workKey } : null,
  };
  return { ...submission, payload: null, promotes };
}
