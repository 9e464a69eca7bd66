// The real worker service with a no-op between claim and end. BENCH_ATTEMPT: `instant` (default) or `held`, which ends only
// when it is told to stop. BENCH_TELL=1: says when each attempt begins.
import { chooseSandbox, ProcessGroup } from '../../../packages/runtimes/dist/index.js';
import { runService } from '../../../packages/service/dist/index.js';
import { createWorker } from '../../../services/worker/dist/index.js';

const isHeld = process.env['BENCH_ATTEMPT'] === 'held';
const tells = process.env['BENCH_TELL'] === '1';
const done = { kind: 'end', outcome: { kind: 'succeeded', reasonCode: 'NO_CHANGE' }, evidence: {} };

async function attempt(job) {
  if (tells) {
    const startedMs = performance.timeOrigin + performance.now();
    process.stdout.write(
      `${JSON.stringify({ started: job.run.runId, startedMs, attempt: job.run.attemptNo })}\n`,
    );
  }
  job.parts.stages.enter(job.lease, 'RUNNING', job.actor);
  if (isHeld) {
    const { stopSignal } = job.lease;
    await new Promise((resolve) => stopSignal.addEventListener('abort', resolve, { once: true }));
  }
  return done;
}

const chosen = await chooseSandbox([new ProcessGroup()]);
const { provider } = chosen;
await runService('worker', (context) =>
  createWorker(context, {
    slots: Number(process.env['BENCH_SLOTS'] ?? 100),
    attempt,
    reader: { readHead: async () => ({ kind: 'head', sha: 'a'.repeat(40), observedAt: new Date() }) },
    sandbox: {
      ...chosen,
      warning: null,
      provider: {
        name: provider.name,
        isolation: provider.isolation,
        mayRunUntrusted: true,
        probe: () => provider.probe(),
        start: (spec) => provider.start(spec),
      },
    },
  }),
);
