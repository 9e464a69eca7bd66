/**
 * One client of the stream, and what is written to it.
 *
 * A client reads as fast as its network lets it, and the process must not keep what it does not take. So nothing is
 * queued here but while the client catches up, bounded; once Node holds more than a bound for it, changes are left out,
 * and when it takes again it is told to reload. One that takes nothing for a minute is cut off.
 */
import type { StreamReload } from '@headgate/sdk';
import { testSignal } from '@headgate/telemetry';
import type { Response } from 'express';

/** Held for a client that does not take it. */
const MAX_UNTAKEN_BYTES = 256 * 1024;
/** Changes that wait while a client catches up. */
const MAX_PENDING = 2_000;
const CUT_OFF_AFTER_MS = 60_000;

export interface Frame {
  readonly event: 'change' | 'beat' | 'reload';
  readonly data: object;
  /** Where to resume from, once this was seen. */
  readonly id: string | null;
}

type Mode =
  /** What arrives waits behind what it missed. */
  | { readonly kind: 'catching-up'; readonly pending: Frame[]; overflowed: boolean }
  | { readonly kind: 'live' }
  /** It does not take what is written. */
  | { readonly kind: 'behind'; readonly cutOff: NodeJS.Timeout }
  | { readonly kind: 'closed' };

export class Subscriber {
  readonly #response: Response;
  #mode: Mode = { kind: 'catching-up', pending: [], overflowed: false };

  constructor(response: Response) {
    this.#response = response;
    response.on('drain', () => this.#taken());
    response.on('close', () => this.#closed());
  }

  get isClosed(): boolean {
    return this.#mode.kind === 'closed';
  }

  begin(retryMs: number): void {
    this.#response.status(200);
    this.#response.setHeader('content-type', 'text/event-stream; charset=utf-8');
    this.#response.setHeader('cache-control', 'no-store, no-transform');
    // nginx would collect it.
    this.#response.setHeader('x-accel-buffering', 'no');
    this.#response.flushHeaders();
    this.#response.write(`retry: ${retryMs}\n\n`);
  }

  /** Something new. It waits, is written, or is left out, by how the client keeps up. */
  offer(frame: Frame): void {
    const mode = this.#mode;
    if (mode.kind === 'live') this.#write(frame);
    if (mode.kind !== 'catching-up') return;
    if (mode.pending.length < MAX_PENDING) mode.pending.push(frame);
    else mode.overflowed = true;
  }

  /** What it missed has been read: that first, then what came meanwhile; from now on everything as it comes. */
  goLive(missed: readonly Frame[], reload: StreamReload['why'] | null): void {
    const mode = this.#mode;
    if (mode.kind !== 'catching-up') return;
    this.#mode = { kind: 'live' };
    if (reload !== null) this.#write(reloadFrame(reload));
    for (const frame of missed) this.offer(frame);
    for (const frame of mode.pending) this.offer(frame);
    if (mode.overflowed) this.#write(reloadFrame('slow'));
  }

  end(): void {
    if (this.#mode.kind === 'closed') return;
    this.#closed();
    this.#response.end();
  }

  #write({ event, data, id }: Frame): void {
    if (this.#response.writableLength > MAX_UNTAKEN_BYTES) {
      const cutOff = setTimeout(() => this.#response.destroy(), CUT_OFF_AFTER_MS).unref();
      this.#mode = { kind: 'behind', cutOff };
      testSignal('console.stream.behind', {});
      return;
    }
    const idLine = id === null ? '' : `id: ${id}\n`;
    this.#response.write(`event: ${event}\n${idLine}data: ${JSON.stringify(data)}\n\n`);
  }

  #taken(): void {
    const mode = this.#mode;
    if (mode.kind !== 'behind') return;
    clearTimeout(mode.cutOff);
    this.#mode = { kind: 'live' };
    this.#write(reloadFrame('slow'));
  }

  #closed(): void {
    if (this.#mode.kind === 'behind') clearTimeout(this.#mode.cutOff);
    this.#mode = { kind: 'closed' };
  }
}

const reloadFrame = (why: StreamReload['why']): Frame => {
  const data: StreamReload = { why };
  return { event: 'reload', data, id: null };
};
