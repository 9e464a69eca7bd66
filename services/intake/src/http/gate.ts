/** Lets requests in until the service drains, and knows when the last one has been answered. */
import { HttpProblem } from '@headgate/service';
import type { RequestHandler } from 'express';

export class Gate {
  #isOpen = true;
  #inside = 0;
  #whenEmpty: (() => void)[] = [];

  readonly handler: RequestHandler = (_request, response, next) => {
    if (!this.#isOpen) {
      throw new HttpProblem({
        status: 503,
        code: 'DRAINING',
        title: 'This process is stopping.',
        detail: 'Send it again: another process, or the next one, takes it.',
        retryAfterSeconds: 2,
      });
    }
    this.#inside += 1;
    response.once('close', () => this.#left());
    next();
  };

  open(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.#isOpen = false;
  }

  /** Resolves when no request is inside. */
  empty(): Promise<void> {
    if (this.#inside === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  #left(): void {
    this.#inside -= 1;
    if (this.#inside > 0) return;
    const waiting = this.#whenEmpty;
    this.#whenEmpty = [];
    for (const resolve of waiting) resolve();
  }
}
