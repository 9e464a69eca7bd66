/**
 * Group commit: many concurrent requests share one transaction, and each still waits for its own COMMIT.
 *
 *   submit ─► waiting list ─► (a batch slot is free) ─► up to N of them in one batch ─► each answered
 *
 * No timer stands in front of an idle system: a batch starts at once when a slot is free, and while the slots are
 * busy the next batch grows. So latency alone is that of one transaction, and under load the batch size follows the
 * load. The waiting list is bounded; above it callers are refused at once, before anything is acknowledged.
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
  readonly maxInFlight: number;
  readonly maxWaiting: number;
  /** Writes one batch; answers in the same order. */
  readonly write: (batch: readonly In[]) => Promise<readonly PromiseSettledResult<Out>[]>;
}

interface Waiting<In, Out> {
  readonly item: In;
  readonly resolve: (out: Out) => void;
  readonly reject: (fault: unknown) => void;
}

export class Batcher<In, Out> {
  readonly #options: BatcherOptions<In, Out>;
  readonly #waiting: Waiting<In, Out>[] = [];
  #inFlight = 0;
  #scheduled = false;

  constructor(options: BatcherOptions<In, Out>) {
    this.#options = options;
  }

  submit(item: In): Promise<Out> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(new OverloadedError(this.#waiting.length));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  /** Resolves when nothing waits and nothing is in flight. */
  async idle(): Promise<void> {
    while (this.#waiting.length > 0 || this.#inFlight > 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
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
    const batch = this.#waiting.splice(0, this.#options.maxBatch);
    this.#inFlight += 1;
    void this.#write(batch).finally(() => {
      this.#inFlight -= 1;
      this.#schedule();
    });
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
