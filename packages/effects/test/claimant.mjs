// A claimant in a process of its own. The ledger lives in the test, over IPC, and outlives it.
// HEADGATE_FAILPOINTS says where it dies. Argument: JSON of the push.
import { performPush } from '@headgate/effects';

const answers = new Map();
let calls = 0;
process.on('message', ({ id, result }) => {
  answers.get(id)?.(result);
  answers.delete(id);
});
const ledger = new Proxy(
  {},
  {
    get: (_, verb) => (input) =>
      new Promise((resolve) => {
        calls += 1;
        answers.set(calls, resolve);
        process.send({ id: calls, verb, input });
      }),
  },
);
const result = await performPush({ ...JSON.parse(process.argv[2]), ledger });
process.send({ result }, () => process.disconnect());
