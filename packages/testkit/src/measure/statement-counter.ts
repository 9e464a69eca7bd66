/**
 * A way to a Postgres that counts the statements that go along it, whoever sends them and from whatever thread or
 * process: it reads the frames of the protocol that clients send (Query and Execute) and changes nothing.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface StatementCounter {
  /** The same address, by way of the counter. */
  through(url: string): string;
  readonly statements: number;
  readonly sessions: number;
  close(): Promise<void>;
}

const QUERY = 'Q'.charCodeAt(0);
const EXECUTE = 'E'.charCodeAt(0);

export async function countStatements(databaseUrl: string): Promise<StatementCounter> {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const counted = { statements: 0, sessions: 0 };
  const server = createServer((client) => {
    const target = connect({ host: hostname, port: Number(port) });
    const frames = new Frames((type) => {
      if (type === QUERY || type === EXECUTE) counted.statements += 1;
    });
    counted.sessions += 1;
    client.on('data', (bytes) => frames.read(bytes));
    for (const socket of [client, target]) {
      sockets.add(socket.setNoDelay());
      socket.on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        target.destroy();
      });
    }
    client.pipe(target);
    target.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const own = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    through: (url) => {
      const changed = new URL(url);
      changed.hostname = '127.0.0.1';
      changed.port = String(own);
      return changed.toString();
    },
    get statements() {
      return counted.statements;
    },
    get sessions() {
      return counted.sessions;
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

const HEAD_BYTES = 5;

/** Walks along the frames of one session: a start packet without a type, then type, length, body. */
class Frames {
  #head = Buffer.alloc(0);
  #skip = 0;
  #isStarted = false;

  constructor(private readonly onFrame: (type: number) => void) {}

  read(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, bytes.length - at);
        this.#skip -= skipped;
        at += skipped;
        continue;
      }
      const wanted = (this.#isStarted ? HEAD_BYTES : HEAD_BYTES - 1) - this.#head.length;
      const piece = bytes.subarray(at, at + wanted);
      this.#head = Buffer.concat([this.#head, piece]);
      at += piece.length;
      if (piece.length === wanted) this.#begin();
    }
  }

  #begin(): void {
    const head = this.#head;
    this.#head = Buffer.alloc(0);
    if (this.#isStarted) {
      this.#skip = head.readUInt32BE(1) - 4;
      this.onFrame(head[0] ?? 0);
    } else {
      this.#skip = head.readUInt32BE(0) - 4;
      this.#isStarted = true;
    }
  }
}
