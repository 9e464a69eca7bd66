/** What a soak does to a cluster, one after the other. Each heals what it broke before it returns. */
import { setTimeout as pause } from 'node:timers/promises';
import type { RunId } from '@headgate/domain';
import { type Cluster, eventually, type Member, SHORT_LEASE } from '@headgate/testkit';
import type { Seeded } from '../harness/seeded.js';

/** Names what it did to whom, for the record. */
type Fault = (cluster: Cluster, chance: Seeded) => Promise<string>;

/** For things that take a second on an idle machine. */
const HEALED_WITHIN_MS = 120_000;

const aWorker = (cluster: Cluster, chance: Seeded): Member =>
  chance.pick(cluster.members.filter((member) => member.services.includes('worker') && member.isRunning));

export const FAULTS: Readonly<Record<string, Fault>> = {
  async killWorker(cluster, chance) {
    const worker = aWorker(cluster, chance);
    await worker.restart();
    return worker.name;
  },
  /** Longer than its leases last, so that others take them; then it goes on where it stood. */
  async freezeWorker(cluster, chance) {
    const worker = aWorker(cluster, chance);
    worker.freeze();
    await pause(SHORT_LEASE.ttlMs * (1 + chance.next()));
    worker.thaw();
    return worker.name;
  },
  async drainWorker(cluster, chance) {
    const worker = aWorker(cluster, chance);
    await worker.terminate();
    await worker.restart();
    return worker.name;
  },
  async killControl(cluster) {
    const control = cluster.member('intake');
    await control.restart();
    return control.name;
  },
  async flushRedis(cluster) {
    await cluster.flushRedis();
    return 'every key';
  },
  async restartRedis(cluster, chance) {
    await cluster.redis.server?.kill9();
    await pause(chance.below(3_000));
    await cluster.redis.server?.restart();
    return 'empty';
  },
  async killPostgres(cluster) {
    await cluster.postgres.server?.kill9();
    await cluster.postgres.server?.restart();
    return 'recovered';
  },
  async cancelRuns(cluster, chance) {
    const live = await eventually(() => cluster.ask.runs(), {
      what: 'the runs are read',
      deadlineMs: HEALED_WITHIN_MS,
    });
    const doomed = live.filter((run) => run.status !== 'SUCCEEDED' && chance.next() < 0.2);
    await Promise.all(doomed.map((run) => cluster.cancel(run.id as RunId)));
    return `${doomed.length} runs`;
  },
  async lowerTheCap(cluster, chance) {
    const maxActive = 1 + chance.below(4);
    const none = { maxActive: null, maxActivePerRepository: null, maxActivePerUser: null };
    const limits = { ...none, maxActiveByRisk: {}, maxActiveByProvider: {} };
    await cluster.changePolicy({ limits: { ...limits, maxActive } });
    await pause(2_000);
    await cluster.changePolicy({ limits });
    return `to ${maxActive} and back`;
  },
};
