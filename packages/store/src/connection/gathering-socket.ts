/**
 * A socket that sends what is written in one turn of the event loop at once.
 *
 * A driver that pipelines hands over each statement by itself, and each would be a system call of its own, which wakes the
 * backend: under load that was a sixth of a service's processor time. Nothing waits longer than the code that runs now: a
 * tick later it is on its way. Over TLS the driver's secure stream writes past it, and nothing is gathered.
 */
import { Socket } from 'node:net';

type Write = (chunk: Uint8Array | string, ...rest: never[]) => boolean;

export class GatheringSocket extends Socket {
  #isGathering = false;

  /** Sets `write` once more: `Socket.connect` replaces any that is not its own. */
  override connect(...args: unknown[]): this {
    Reflect.apply(super.connect, this, args);
    const write: Write = this.write;
    this.write = (...args: Parameters<Write>) => {
      this.#gather();
      return write.apply(this, args);
    };
    return this;
  }

  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      this.uncork();
    });
  }
}
