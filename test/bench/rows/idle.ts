/** A whole system with nothing to do: what it asks of Postgres, and the processor time it takes. */
import { setTimeout as delay } from 'node:timers/promises';
import { countStatements } from '@headgate/testkit/measure';
import { openInstance } from '../harness/instance.js';
import { cpuMs } from '../harness/processes.js';
import type { Bench, Part } from '../harness/row.js';

const SERVICES = ['intake', 'scheduler', 'worker', 'reconciler', 'console'];
/** What a process does once after its start (it compiles, it collects its garbage) is not what an idle one does. */
const SETTLE_MS = 25_000;

export const idle: Part = {
  name: 'idle',
  run: async ({ place, effort }: Bench) => {
    const counter = await countStatements(place.postgres.url);
    const instance = await openInstance(place, 'idle', (url) => counter.through(url));
    const windowMs = effort.isQuick ? 5_000 : 15_000;
    try {
      const pids: number[] = [];
      for (const name of SERVICES) pids.push((await instance.service(name)).child.pid);
      await delay(SETTLE_MS);
      const used = () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
      const before = { statements: counter.statements, cpuMs: used(), atMs: performance.now() };
      await delay(windowMs);
      const tookMs = performance.now() - before.atMs;
      return [
        {
          name: 'idle system, five services: statements',
          unit: 'per second',
          ours: [((counter.statements - before.statements) * 1_000) / tookMs],
          against: null,
          target: { kind: 'at-most', value: 5 },
        },
        {
          name: 'idle system, five processes: processor time, all together',
          unit: '% of one processor',
          ours: [((used() - before.cpuMs) * 100) / tookMs],
          against: null,
          target: { kind: 'at-most', value: 1 },
        },
      ];
    } finally {
      await instance.close();
      await counter.close();
    }
  },
};
