/**
 * A TCP proxy that spoils a connection in chosen ways, for Postgres, Redis and HTTP alike. It looks at no
 * protocol. Faults hold for connections that are open and for those to come, until `heal`.
 *
 * A black hole keeps bytes waiting instead of losing them: that is what a partition looks like to TCP, which
 * sends them again when it heals. It cannot refuse the handshake itself, as a real one would: the kernel answers
 * that; for a port where nobody listens, `close` the proxy.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { atEnd } from './at-end.js';

/** The way bytes go: to the target (requests), to the client (answers). */
export type Direction = 'toTarget' | 'toClient';

export interface ProxyTarget {
  readonly host?: string;
  readonly port: number;
}

export interface FaultProxy {
  readonly port: number;
  /** Connections open now. */
  connections(): number;
  /** The same address with the proxy's host and port: `through(databaseUrl)`. */
  through(url: string): string;
  /** Delays every piece of data, in both directions. */
  latency(ms: number): void;
  /** Nothing passes, in both directions or in one: a partition. */
  blackhole(direction?: Direction): void;
  /**
   * Resets each connection once that many more bytes have come through it towards the client. A Node client that
   * reads the last bytes and the reset at once sees a plain end.
   */
  resetAfter(bytes: number): void;
  /** Passes data in pieces of at most that many bytes. */
  slice(bytes: number): void;
  /** Resets all connections that are open; new ones are served. */
  cut(): void;
  /** Ends all faults; what waited passes. */
  heal(): void;
  close(): Promise<void>;
}

interface Faults {
  latencyMs: number;
  blocked: ReadonlySet<Direction>;
  sliceBytes: number;
}

const NONE: Faults = { latencyMs: 0, blocked: new Set(), sliceBytes: Number.POSITIVE_INFINITY };

/** Opens a proxy on a free loopback port. Closed at the end of the test. */
export async function faultProxy(target: ProxyTarget): Promise<FaultProxy> {
  const proxy = new Proxying(target);
  await proxy.listen();
  atEnd(() => proxy.close());
  return proxy;
}

class Proxying implements FaultProxy {
  readonly #server: Server;
  readonly #links = new Set<Link>();
  #faults: Faults = { ...NONE };
  #resetAfterBytes = Number.POSITIVE_INFINITY;
  #healed = newGate();

  constructor(private readonly target: ProxyTarget) {
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#serve(client));
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }
  connections(): number {
    return this.#links.size;
  }
  through(url: string): string {
    const changed = new URL(url);
    changed.hostname = '127.0.0.1';
    changed.port = String(this.port);
    return changed.toString();
  }

  latency(ms: number): void {
    this.#faults.latencyMs = ms;
  }
  blackhole(direction?: Direction): void {
    this.#faults.blocked = new Set(direction ? [direction] : (['toTarget', 'toClient'] as const));
  }
  resetAfter(bytes: number): void {
    this.#resetAfterBytes = bytes;
    for (const link of this.#links) link.bytesLeft = bytes;
  }
  slice(bytes: number): void {
    this.#faults.sliceBytes = Math.max(1, bytes);
  }
  cut(): void {
    for (const link of [...this.#links]) link.reset();
  }
  heal(): void {
    this.#faults = { ...NONE };
    this.#resetAfterBytes = Number.POSITIVE_INFINITY;
    for (const link of this.#links) link.bytesLeft = Number.POSITIVE_INFINITY;
    this.#healed.open();
    this.#healed = newGate();
  }
  async close(): Promise<void> {
    this.cut();
    this.heal();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(client: Socket): void {
    const target = connect({
      host: this.target.host ?? '127.0.0.1',
      port: this.target.port,
      allowHalfOpen: true,
    });
    const link = new Link(client, target, this.#resetAfterBytes);
    this.#links.add(link);
    const drop = () => {
      link.reset();
      this.#links.delete(link);
    };
    for (const socket of [client, target]) {
      socket.setNoDelay(true);
      socket.on('error', drop);
      socket.on('close', () => {
        if (client.destroyed && target.destroyed) this.#links.delete(link);
      });
    }
    void this.#pump(link, client, target, 'toTarget').catch(drop);
    void this.#pump(link, target, client, 'toClient').catch(drop);
  }

  /** Reads a piece only when the one before has gone on: what waits stays in the kernel, as in a slow network. */
  async #pump(link: Link, from: Socket, to: Socket, direction: Direction): Promise<void> {
    // The end of one direction is not the end of the other.
    for await (const chunk of from.iterator({ destroyOnReturn: false })) {
      if (!Buffer.isBuffer(chunk)) continue;
      for (let at = 0; at < chunk.length; ) {
        await this.#passable(direction);
        const size = Math.min(this.#faults.sliceBytes, chunk.length - at);
        let piece = chunk.subarray(at, at + size);
        if (direction === 'toClient') piece = piece.subarray(0, Math.max(0, link.bytesLeft));
        if (piece.length > 0 && !to.write(piece)) await once(to, 'drain');
        if (direction === 'toClient') link.bytesLeft -= size;
        if (link.bytesLeft <= 0) return link.reset();
        at += size;
      }
    }
    await this.#passable(direction);
    to.end();
  }

  async #passable(direction: Direction): Promise<void> {
    if (this.#faults.latencyMs > 0) await delay(this.#faults.latencyMs);
    while (this.#faults.blocked.has(direction)) await this.#healed.opened;
  }
}

class Link {
  constructor(
    private readonly client: Socket,
    private readonly target: Socket,
    /** Towards the client, until the connection is reset. */
    public bytesLeft: number,
  ) {}

  reset(): void {
    this.client.resetAndDestroy();
    this.target.resetAndDestroy();
  }
}

function newGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
