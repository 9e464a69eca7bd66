// One process for the tests of what crosses processes. `actor.mjs <what>` with the environment under test.
import { failPoint, nameHistoryProcess, record, testSignal } from '../../dist/index.js';

const acts = {
  /** Passes one fail-point three times, saying so around each. */
  passes: async () => {
    for (let pass = 1; pass <= 3; pass += 1) {
      testSignal('before', { pass });
      await failPoint('worker.claim.committed');
      testSignal('after', { pass });
    }
  },
  /** Records until it is killed. */
  records: async () => {
    nameHistoryProcess('work/er');
    for (let count = 1; ; count += 1) {
      record({ type: 'ok', op: 'claim', run: `run ${count}`, fencingToken: 12n ** 20n, result: { count } });
      if (count === 1_000) testSignal('recorded', { count });
    }
  },
  /** Many signals in one go, to meet those of another process in the same file. */
  floods: async () => {
    for (let count = 0; count < 500; count += 1) testSignal('flood', { count, padding: 'x'.repeat(300) });
  },
  /** Nanoseconds per pass of an unarmed point, of a signal nobody hears, of a record nobody keeps. */
  measures: async () => {
    const calls = 500_000;
    // The best round of each: the machine is shared, and the code is never faster than it is. Three loops, so
    // that each call site sees one function only, as in a service.
    const best = { failPoint: Infinity, testSignal: Infinity, record: Infinity };
    const entry = { type: 'ok', op: 'claim' };
    for (let round = 0; round < 7; round += 1) {
      let start = process.hrtime.bigint();
      for (let count = 0; count < calls; count += 1) failPoint('worker.claim.committed');
      best.failPoint = Math.min(best.failPoint, Number(process.hrtime.bigint() - start) / calls);
      start = process.hrtime.bigint();
      for (let count = 0; count < calls; count += 1) testSignal('quiet');
      best.testSignal = Math.min(best.testSignal, Number(process.hrtime.bigint() - start) / calls);
      start = process.hrtime.bigint();
      for (let count = 0; count < calls; count += 1) record(entry);
      best.record = Math.min(best.record, Number(process.hrtime.bigint() - start) / calls);
    }
    console.log(JSON.stringify(best));
  },
};

await acts[process.argv[2]]();
