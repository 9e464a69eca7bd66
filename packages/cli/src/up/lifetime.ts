/**
 * What a long-running command has started, and how all of it ends.
 *
 * Steps run one after the other; each may leave something that must be ended. An interrupt may come at any moment:
 * the step under way is given a short while, so that what it starts is known and ended in order, then everything is
 * ended in reverse, each part within its own bound. What a step that was cut off still starts is tied to this
 * process (the kernel ends it with us, and pid files name it for the next start).
 */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** How long a step under way may still take once we are asked to end. */
const STEP_GRACE_MS = 5_000;

interface Ending {
  readonly name: string;
  readonly withinMs: number;
  end(): Promise<void>;
}

export class Lifetime {
  readonly #endings: Ending[] = [];
  readonly #interrupt = new AbortController();
  #underWay: Promise<unknown> = Promise.resolve();
  #ended: Promise<void> | null = null;
  readonly #interrupted: Promise<never>;

  constructor() {
    this.#interrupted = new Promise((_resolve, reject) => {
      this.signal.addEventListener('abort', () => reject(new Interrupted()), { once: true });
    });
    this.#interrupted.catch(() => {});
  }

  /** Aborted once the command has been asked to end. */
  get signal(): AbortSignal {
    return this.#interrupt.signal;
  }

  /** Runs one step of the start. Rejects with `Interrupted` at once when asked to end, whatever the step does. */
  async step<T>(
    work: () => Promise<T>,
    ending?: { readonly name: string; readonly withinMs: number; readonly end: (made: T) => Promise<void> },
  ): Promise<T> {
    if (this.signal.aborted) throw new Interrupted();
    const running = work().then((made) => {
      if (ending !== undefined) {
        const { name, withinMs, end } = ending;
        this.#endings.push({ name, withinMs, end: () => end(made) });
      }
      return made;
    });
    this.#underWay = running.catch(() => {});
    return Promise.race([running, this.#interrupted]);
  }

  /** Registers something that a step made on its way. */
  onEnd(name: string, withinMs: number, end: () => Promise<void>): void {
    this.#endings.push({ name, withinMs, end });
  }

  interrupt(): void {
    this.#interrupt.abort();
  }

  /** Ends everything, the last first. Idempotent; `onFailure` hears what did not end well or in time. */
  end(onFailure: (name: string, fault: unknown) => void): Promise<void> {
    this.#interrupt.abort();
    this.#ended ??= this.#endAll(onFailure);
    return this.#ended;
  }

  async #endAll(onFailure: (name: string, fault: unknown) => void): Promise<void> {
    await within(this.#underWay, STEP_GRACE_MS);
    for (let ending = this.#endings.pop(); ending !== undefined; ending = this.#endings.pop()) {
      try {
        const inTime = await within(ending.end(), ending.withinMs);
        if (!inTime) onFailure(ending.name, new Error(`did not end within ${ending.withinMs} ms`));
      } catch (fault) {
        onFailure(ending.name, fault);
      }
    }
  }
}

/** Whether it settled in time. Passes on its rejection. */
async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
