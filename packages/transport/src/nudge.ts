/** Something to wait on that anyone may cut short. Waking everybody for nothing is harmless. */
export class Nudge {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next `now()`, or after `limitMs`. */
  wait(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => wake(), limitMs);
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
    });
  }

  now(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
