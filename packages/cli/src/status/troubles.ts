/** From numbers to sentences: what is wrong, since when, and the first thing to do. Pure. */
import type { Queue, Worker } from '@headgate/sdk';
import { count } from '../terminal/words.js';
import type { Health } from './health.js';

export interface Trouble {
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  /** RFC 3339; null = not known. */
  readonly since: string | null;
  readonly advice: string;
}

/** Work that is ready and may start waits for seconds at most. */
const LATE_MS = 60_000;

/** The worst first. */
export function troublesIn(health: Health, now: Date): readonly Trouble[] {
  const { checks, queues, workers, deadLetters, deadLetterSince } = health;
  const troubles: Trouble[] = [];
  if (checks.postgres === 'down') {
    troubles.push({
      code: 'POSTGRES_DOWN',
      severity: 'error',
      message: 'Postgres does not answer: nothing is admitted or started',
      since: null,
      advice: 'start Postgres or correct DATABASE_URL; senders are told to come again',
    });
    return troubles;
  }
  if (checks.policy === 'missing') {
    troubles.push({
      code: 'POLICY_MISSING',
      severity: 'error',
      message: 'No policy is active',
      since: null,
      advice: 'headgate up with a headgate.yaml',
    });
  }
  troubles.push(...queues.flatMap((queue) => queueTrouble(queue, now)), ...isolationTrouble(workers));
  if (deadLetters > 0) {
    troubles.push({
      code: 'DEAD_LETTERS',
      severity: 'warning',
      message: `${count(deadLetters, 'run')} could not be brought to an end`,
      since: deadLetterSince,
      advice: 'headgate runs list --status failed, then headgate runs retry',
    });
  }
  if (checks.redis === 'degraded') {
    troubles.push({
      code: 'HINTS_DEGRADED',
      severity: 'warning',
      message: 'Workers poll the database: there is no Redis, or it does not answer',
      since: null,
      advice: 'nothing is lost, work starts a second later; headgate doctor says how to add Redis',
    });
  }
  return troubles;
}

/** Workers are there, and none of them may run an agent of the user's own. */
function isolationTrouble(workers: readonly Worker[]): readonly Trouble[] {
  const live = workers.filter(({ isLive }) => isLive);
  if (live.length === 0 || live.some(({ capabilities }) => capabilities['agentRuns'] === true)) return [];
  const remedy = live
    .map(({ capabilities }) => capabilities['isolationRemedy'])
    .find((it) => it !== undefined);
  return [
    {
      code: 'NO_ISOLATION',
      severity: 'warning',
      message: 'No live worker can isolate agents: only the example agent runs, all else waits',
      since: null,
      advice: typeof remedy === 'string' ? remedy : 'headgate doctor, on the worker’s machine',
    },
  ];
}

function queueTrouble(queue: Queue, now: Date): readonly Trouble[] {
  if (queue.ready === 0 || queue.oldestReadyAt === null) return [];
  const about = { since: queue.oldestReadyAt, severity: 'error' } as const;
  if (queue.liveWorkers === 0) {
    return [
      {
        ...about,
        code: 'NO_CAPABLE_WORKER',
        message: `${count(queue.ready, 'run')} in queue ${queue.id} and no live worker that can run ${queue.ready === 1 ? 'it' : 'them'}`,
        advice:
          'start one (headgate worker) on a machine that offers what the queue asks for; headgate doctor says what this one can',
      },
    ];
  }
  const isLate = now.getTime() - Date.parse(queue.oldestReadyAt) > LATE_MS;
  const hasSlots = queue.running + queue.dispatched < queue.slots;
  if (!isLate) return [];
  return [
    {
      ...about,
      severity: hasSlots ? 'error' : 'warning',
      code: hasSlots ? 'READY_NOT_STARTED' : 'ALL_SLOTS_BUSY',
      message: hasSlots
        ? `${count(queue.ready, 'run')} in queue ${queue.id} wait although slots are free`
        : `${count(queue.ready, 'run')} in queue ${queue.id} wait: all ${queue.slots} slots are busy`,
      advice: hasSlots
        ? 'headgate runs list --status waiting says what each waits for'
        : 'start another worker, or wait their turn',
    },
  ];
}
