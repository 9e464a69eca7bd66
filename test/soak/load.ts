/** Random load: deliveries as a forge sends them, each again under its GUID until it is taken, some of them twice. */
import { setTimeout as pause } from 'node:timers/promises';
import type { RunId } from '@headgate/domain';
import { type Cluster, eventually } from '@headgate/testkit';
import type { Seeded } from '../harness/seeded.js';

/** No more than this waits at once: a soak is about faults, not about a queue that grows for ever. */
const MOST_WAITING = 40;
const TAKEN_WITHIN_MS = 180_000;
/** Mostly work that succeeds. */
const ROUTES = ['quick', 'quick', 'quick', 'quick', 'failing'];

export class Load {
  /** Every run that was acknowledged, with its check. */
  readonly acknowledged = new Map<RunId, string>();
  /** Answers other than 202, 503 and none: there should be no such. */
  readonly unexpected: string[] = [];
  #sent = 0;
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(
    private readonly cluster: Cluster,
    private readonly chance: Seeded,
  ) {
    this.#done = this.#send();
  }

  /** Sends nothing more; settles when everything sent is acknowledged. */
  end(): Promise<void> {
    this.#isOver = true;
    return this.#done;
  }

  async #send(): Promise<void> {
    const headSha = await this.cluster.head();
    const underWay: Promise<void>[] = [];
    while (!this.#isOver) {
      if (await this.#hasRoom()) {
        for (let burst = 1 + this.chance.below(5); burst > 0; burst -= 1)
          underWay.push(this.#deliver(headSha));
      }
      await pause(50 + this.chance.below(400));
    }
    await Promise.all(underWay);
  }

  async #hasRoom(): Promise<boolean> {
    // While Postgres is away the load goes on.
    const moving = await this.cluster.ask.moving().catch(() => null);
    return moving === null || moving.runs < MOST_WAITING;
  }

  async #deliver(headSha: string): Promise<void> {
    this.#sent += 1;
    const check = `${this.chance.pick(ROUTES)}-${this.#sent}`;
    const delivery = { check, headSha, guid: `guid-${this.#sent}` };
    const copies = this.chance.next() < 0.15 ? 2 : 1;
    const runIds = await Promise.all(Array.from({ length: copies }, () => this.#untilTaken(delivery)));
    for (const runId of runIds) this.acknowledged.set(runId, check);
    if (new Set(runIds).size !== 1) this.unexpected.push(`${check} was said to be ${runIds.join(' and ')}`);
  }

  #untilTaken(delivery: {
    readonly check: string;
    readonly headSha: string;
    readonly guid: string;
  }): Promise<RunId> {
    return eventually(
      async () => {
        const reply = await this.cluster.send(delivery);
        if (reply.httpStatus === 202) return reply.runId;
        if (reply.httpStatus !== 503 && reply.httpStatus !== null) {
          this.unexpected.push(`${delivery.check}: ${reply.httpStatus} ${JSON.stringify(reply.body)}`);
        }
        return null;
      },
      { what: `${delivery.check} is acknowledged`, deadlineMs: TAKEN_WITHIN_MS, everyMs: 200 },
    );
  }
}
