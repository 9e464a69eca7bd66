/** The keeper's thread: its own sessions, its own loop. See beat-loop.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '@headgate/domain';
import { endSandbox } from '@headgate/runtimes';
import { leases, Pool } from '@headgate/store';
import { createLogger, HISTORY_OPS, record } from '@headgate/telemetry';
import { BeatLoop } from './beat-loop.js';
import { LeaseBook } from './lease-book.js';
import type { FromKeeper, KeeperData, ToKeeper } from './messages.js';

/** A beat has no use for an answer that comes later: two may hang before a third is sent. */
const MAX_BEAT_MS = 5_000;
const MIN_BEAT_MS = 500;
const SESSIONS = 2;

const port = parentPort;
if (port === null) throw new Error('the keeper runs in a thread of a worker');
const data = workerData as KeeperData;
const mainTurn = new BigInt64Array(data.mainTurn);
const pool = new Pool(data.serviceUrl, SESSIONS, {
  poolMode: data.poolMode,
  applicationName: 'headgate keeper',
  queryTimeoutMs: Math.min(Math.max(data.timing.heartbeatMs, MIN_BEAT_MS), MAX_BEAT_MS),
  logger: createLogger('keeper'),
});
const tell = (message: FromKeeper): void => port.postMessage(message);
const book = new LeaseBook(data.timing);
const loop = new BeatLoop(
  {
    clock: systemClock,
    book,
    beat: (fences, workerId, ttlMs) => pool.use((c) => leases.beat(c, fences, workerId, ttlMs)),
    mainTurnMs: () => Number(Atomics.load(mainTurn, 0)) / 1e6,
    kill: (identity) => void endSandbox(identity),
    tell,
    onLapse: ({ runId, fencingToken, leaseId }) =>
      record({ type: 'ok', op: HISTORY_OPS.trustLost, run: runId, fencingToken, leaseId }),
  },
  data.timing,
);

const hear = (message: ToKeeper): void => {
  switch (message.kind) {
    case 'worker':
      loop.workerId = message.workerId;
      return;
    case 'timing':
      loop.timing = message.timing;
      return;
    case 'hold':
      book.hold(message.fence, message.trustedUntilMs);
      loop.turn();
      return;
    case 'drop':
      book.drop(message.leaseId);
      return;
    case 'sandbox':
      loop.happened(book.sandbox(message.leaseId, message.identity));
      return;
    case 'let-run-out':
      book.letRunOut(message.leaseId);
      return;
    case 'beat-now':
      loop.beatNow();
      return;
    case 'sync':
      tell({ kind: 'synced', id: message.id });
      return;
    case 'stop':
      loop.stop();
      void pool.end().finally(() => port.close());
      return;
  }
};

port.on('message', (messages: readonly ToKeeper[]) => {
  for (const message of messages) hear(message);
});
tell({ kind: 'ready' });
