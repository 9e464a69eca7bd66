/** A console with something to see on every page: runs in every public status, one with a log, a diff and a push. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatId, systemIds } from '@headgate/domain';
import { artifacts, createLedger, enterStages, seals } from '@headgate/store';
import {
  claimRun,
  finishRun,
  type RunInStatus,
  runInStatus,
  type SeededRun,
  seedRun,
} from '@headgate/testkit';
import { aConsole, type TestConsole } from '../../services/console/test/a-console.js';
import { deliver } from '../../services/console/test/seeds.js';

export const DELIVERY = '7f3c9c1e-0000-4000-8000-000000000001';

export const BRANCH_URL = 'https://github.com/acme/api/tree/agent/fix-add';

export const PATCH = `diff --git a/src/add.js b/src/add.js
index 1111111..2222222 100644
--- a/src/add.js
+++ b/src/add.js
@@ -1,3 +1,3 @@
 export function add(a, b) {
-  return a - b;
+  return a + b;
 }
diff --git a/docs/new file.md b/docs/new file.md
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/docs/new file.md
@@ -0,0 +1,2 @@
+# Adding
+Adding adds.
diff --git a/src/sum.js b/src/total.js
similarity index 100%
rename from src/sum.js
rename to src/total.js
diff --git a/logo.png b/logo.png
new file mode 100644
index 0000000..4444444
Binary files /dev/null and b/logo.png differ
`;

export interface Story {
  readonly test: TestConsole;
  readonly finished: string;
  readonly waiting: SeededRun;
  readonly runs: readonly RunInStatus[];
}

export async function aStory(): Promise<Story> {
  const test = await aConsole();
  const runs: RunInStatus[] = [];
  for (const status of ['CANCELLED', 'SUPERSEDED', 'FAILED', 'VERIFYING'] as const) {
    runs.push(await runInStatus(test.store, status, { tenant: test.tenant }));
  }
  const finished = await finishedRun(test);
  const waiting = await seedRun(test.store, { tenant: test.tenant });
  // One signal, and twice more: the same delivery.
  for (let n = 0; n < 3; n += 1) await deliver(test, { eventId: DELIVERY });
  return { test, finished, waiting, runs };
}

async function finishedRun(test: TestConsole): Promise<string> {
  const run = await seedRun(test.store, { tenant: test.tenant, workKey: '42/pr/41/check/lint' });
  const id = formatId('run', run.runId);
  const lease = await claimRun(test.store, run);
  const { fence } = lease;
  const folder = join(test.context.paths.artifacts, id, '1');
  await mkdir(folder, { recursive: true });
  const log = Array.from({ length: 3_000 }, (_, n) => `line ${n}: looking at file-${n}.js`).join('\n');
  await writeFile(join(folder, 'agent.log'), `${log}\nfound the defect\n`);
  await writeFile(join(folder, 'verify.log'), 'ok 1 - adds\n');
  await writeFile(join(folder, 'changes.patch'), PATCH);
  for (const stage of ['RUNNING', 'VERIFYING', 'FINALIZING'] as const) {
    await enterStages(test.store.service, [{ fence, to: stage, actor: 'worker:test' }]);
  }
  await test.store.service.use((c) =>
    artifacts.insert(c, { fence, tenantId: test.tenant.id, attemptNo: 1 }, [
      {
        name: 'changes.patch',
        path: join(id, '1', 'changes.patch'),
        bytes: PATCH.length,
        sha256: Buffer.alloc(32, 2),
        mediaType: 'text/x-diff',
      },
    ]),
  );
  await seals.put(
    test.store.service,
    fence,
    lease.attemptId,
    {
      verdict: 'changes',
      baseVersion: 'a'.repeat(40),
      commitSha: 'b'.repeat(40),
      verification: [
        { command: 'npm test', outcome: { kind: 'exited', code: 0 }, tail: 'ok 1 - adds', wallMs: 2_100 },
      ],
      summary: 'It subtracted where it should add.',
      bundle: Buffer.from('a bundle'),
    },
    'agent/fix-add',
  );
  const ledger = createLedger(test.store.service, {
    tenantId: test.tenant.id,
    ids: systemIds,
    actor: 'applier',
  });
  await ledger.intend({ key: 'push:1', kind: 'push', fence, intent: { branch: 'agent/fix-add' } });
  await ledger.attempt({ key: 'push:1', fence });
  await ledger.confirm({
    key: 'push:1',
    externalId: 'b'.repeat(40),
    url: BRANCH_URL,
    evidence: {},
  });
  await finishRun(test.store, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' }, 0.31);
  return id;
}
