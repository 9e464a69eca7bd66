/**
 * Group commit: many concurrent requests share one transaction, and each still waits for its own COMMIT.
 *
 *   submit ─► waiting list ─► (a batch slot is free) ─► up to N of them in one batch ─► each answered
 *
 * No timer stands in front of an idle system: a batch starts at once when a slot is free, and while the slots are
 * busy the next batch grows. So latency alone is that of one transaction, and under load the batch size follows the
 * load. List and batch are bounded by number and by weight (bytes held); above the list's bound callers are refused
 * at once, before anything is acknowledged. One item always fits, whatever it weighs.
 *
 * Only this object touches the list, on one thread. Nothing is kept over a crash: what was not answered was not
 * acknowledged.
 */
export class OverloadedError extends Error {
  constructor(waiting: number) {
    super(`${waiting} signals wait to be written already`);
    this.name = 'OverloadedError';
  }
}

export interface BatcherOptions<In, Out> {
  readonly maxBatch: number;
  readonly maxBatchWeight: number;
  readonly maxInFlight: number;
  readonly maxWaiting: number;
  readonly maxWaitingWeight: number;
  readonly weigh: (item: In) => number;
  /** Writes one batch; answers in the same order. */
  readonly write: (batch: readonly In[]) => Promise<readonly PromiseSettledResult<Out>[]>;
}

interface Waiting<In, Out> {
  readonly item: In;
  readonly weight: number;
  readonly resolve: (out: Out) => void;
  readonly reject: (fault: unknown) => void;
}

export class Batcher<In, Out> {
  readonly #options: BatcherOptions<In, Out>;
  readonly #waiting: Waiting<In, Out>[] = [];
  #waitingWeight = 0;
  #inFlight = 0;
  #scheduled = false;
  #whenIdle: (() => void)[] = [];

  constructor(options: BatcherOptions<In, Out>) {
    this.#options = options;
  }

  submit(item: In): Promise<Out> {
    const weight = this.#options.weigh(item);
    if (this.#isFull(weight)) return Promise.reject(new OverloadedError(this.#waiting.length));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, weight, resolve, reject });
      this.#waitingWeight += weight;
      this.#schedule();
    });
  }

  /** Resolves when nothing waits and nothing is in flight. */
  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #isIdle(): boolean {
    return this.#waiting.length === 0 && this.#inFlight === 0;
  }

  #isFull(weight: number): boolean {
    const { maxWaiting, maxWaitingWeight } = this.#options;
    if (this.#waiting.length === 0) return false;
    return this.#waiting.length >= maxWaiting || this.#waitingWeight + weight > maxWaitingWeight;
  }

  /** After this turn of the event loop, so that requests that arrived together go together. */
  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.#options.maxInFlight) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#inFlight < this.#options.maxInFlight && this.#waiting.length > 0) this.#start();
    });
  }

  #start(): void {
    const batch = this.#waiting.splice(0, this.#batchLength());
    for (const one of batch) this.#waitingWeight -= one.weight;
    this.#inFlight += 1;
    void this.#write(batch).finally(() => {
      this.#inFlight -= 1;
      if (this.#isIdle()) this.#tellIdle();
      else this.#schedule();
    });
  }

  /** As many from the front as fit; the first always does. */
  #batchLength(): number {
    const { maxBatch, maxBatchWeight } = this.#options;
    let weight = 0;
    for (const [at, one] of this.#waiting.entries()) {
      weight += one.weight;
      if (at >= maxBatch || (at > 0 && weight > maxBatchWeight)) return at;
    }
    return this.#waiting.length;
  }

  #tellIdle(): void {
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of waiting) resolve();
  }

  async #write(batch: readonly Waiting<In, Out>[]): Promise<void> {
    try {
      const results = await this.#options.write(batch.map((one) => one.item));
      batch.forEach((one, at) => {
        const result = results[at];
        if (result === undefined) one.reject(new Error('the batch gave no answer for this signal'));
        else if (result.status === 'fulfilled') one.resolve(result.value);
        else one.reject(result.reason);
      });
    } catch (fault) {
      for (const one of batch) one.reject(fault);
    }
  }
}
