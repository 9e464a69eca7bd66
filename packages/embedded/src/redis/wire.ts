import { connect } from 'node:net';

/** Enough of the Redis protocol to ask our own server for one word: no client library for PING and FLUSHALL. */
export interface RedisAddress {
  readonly port: number;
  readonly password: string;
}

const ANSWER_WITHIN_MS = 2_000;

/** Sends one command after AUTH. Returns the answer's text without its type sign; rejects on an error answer. */
export function askRedis(address: RedisAddress, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: address.port });
    const fail = (why: string) => {
      socket.destroy();
      reject(new Error(`Redis on port ${address.port}: ${why}`));
    };
    let answer = '';
    socket.setTimeout(ANSWER_WITHIN_MS, () => fail(`no answer to ${command} within ${ANSWER_WITHIN_MS} ms`));
    socket.on('error', (error) => fail(error.message));
    socket.on('close', () => fail('connection closed'));
    socket.on('data', (chunk) => {
      answer += chunk.toString('utf8');
      const [auth, said, end] = answer.split('\r\n');
      if (auth?.startsWith('-')) return fail(auth.slice(1));
      if (said === undefined || end === undefined) return;
      if (!said.startsWith('+')) return fail(said.slice(1));
      socket.removeAllListeners('close');
      socket.destroy();
      resolve(said.slice(1));
    });
    socket.write(encode(['AUTH', address.password]) + encode([command]));
  });
}

/** Removes every key of a private Redis, found by its URL: for drills in another process than the one that runs it. */
export async function emptyPrivateRedis(url: string): Promise<void> {
  const { port, password, hostname } = new URL(url);
  if (hostname !== '127.0.0.1') throw new Error(`${hostname} is not where a private Redis listens`);
  await askRedis({ port: Number(port), password: decodeURIComponent(password) }, 'FLUSHALL');
}

function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
