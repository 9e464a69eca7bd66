import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';
import { takeSnapshot } from '../checker/load-final-state.js';
import type { Snapshot } from '../checker/model.js';

const EVERY_MS = 200;

/**
 * Looks where every run is, again and again while a cluster works: each look is one statement, hence one snapshot. A
 * look that Postgres does not answer is left out; the drill has killed it.
 */
export class Sampler {
  readonly snapshots: Snapshot[] = [];
  #isStopped = false;
  readonly #done: Promise<void>;

  constructor(pool: Pool) {
    this.#done = this.#sample(pool);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #sample(pool: Pool): Promise<void> {
    while (!this.#isStopped) {
      const client = await pool.connect().catch(() => null);
      if (client !== null) {
        const snapshot = await takeSnapshot(client).catch(() => null);
        client.release(snapshot === null);
        if (snapshot !== null && snapshot.runs.length > 0) this.snapshots.push(snapshot);
      }
      await wait(EVERY_MS);
    }
  }
}
