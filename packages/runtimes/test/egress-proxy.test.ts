/** The way out of a sandbox, as its command meets it: by name, by port, and never to what is not on the internet. */
import { once } from 'node:events';
import { mkdir, stat, symlink } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { isPublicAddress } from '@headgate/config';
import type { NetworkRule } from '@headgate/domain';
import {
  Bubblewrap,
  CommandRuntime,
  EgressProxy,
  type NetworkRefusal,
  PidNamespace,
  SandboxRuntime,
} from '@headgate/runtimes';
import { describeWithTool } from '@headgate/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { attemptIn, specOf } from './attempts.js';
import { describeNetworkList, rule } from './network-conformance.js';
import { type Place, place } from './places.js';

let sockets = 0;
const open: { close(): unknown }[] = [];
let here: Place;
beforeEach(async () => {
  here = await place();
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
  await here.remove();
});

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({ close: () => server.close() });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it listens on a port');
  return address.port;
}
const greeter = (): Promise<number> => listening(createServer((socket) => socket.end('hello from the host')));

interface Proxied {
  readonly socketPath: string;
  readonly refused: NetworkRefusal[];
}

async function proxy(
  rules: readonly NetworkRule[],
  lookup?: (host: string) => Promise<readonly string[]>,
): Promise<Proxied> {
  sockets += 1;
  const socketPath = join(here.path, `egress-${sockets}.sock`);
  const refused: NetworkRefusal[] = [];
  const running = await EgressProxy.start({
    socketPath,
    rules,
    onRefused: (refusal) => refused.push(refusal),
    ...(lookup === undefined ? {} : { lookup }),
  });
  open.push(running);
  return { socketPath, refused };
}

/** Everything that comes back for these bytes. */
async function say(socketPath: string, text: string): Promise<string> {
  const socket = connect({ path: socketPath });
  let answer = '';
  socket.setEncoding('utf8').on('data', (part) => {
    answer += part;
  });
  socket.on('error', () => {});
  socket.write(text);
  await once(socket, 'close');
  return answer;
}
const tunnel = ({ socketPath }: Proxied, target: string): Promise<string> =>
  say(socketPath, `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);

describe('isPublicAddress', () => {
  it.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700::1111'])('%s is', (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );
  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '2001::1',
    '2002:7f00:1::',
    '2001:db8::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    'localhost',
    '2130706433',
  ])('%s is not', (address) => expect(isPublicAddress(address)).toBe(false));
});

describe('EgressProxy', () => {
  it('tunnels to what is listed, and to nothing else', async () => {
    const port = await greeter();
    const out = await proxy([rule(`host.example:${port}`, true)], async () => ['127.0.0.1']);
    expect(await tunnel(out, `host.example:${port}`)).toBe(
      'HTTP/1.1 200 Connection Established\r\n\r\nhello from the host',
    );
    for (const target of [
      `other.example:${port}`,
      `host.example:${port + 1}`,
      `127.0.0.1:${port}`,
      '*.example:443',
    ]) {
      expect(await tunnel(out, target)).toMatch(/^HTTP\/1\.1 403 /);
    }
    expect(out.refused.map(({ host }) => host)).toEqual([
      `other.example:${port}`,
      `host.example:${port + 1}`,
      `127.0.0.1:${port}`,
      '*.example:443',
    ]);
  });

  it('a listed name that leads into this machine or its network is refused, also beside a good address', async () => {
    const port = await greeter();
    for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1']) {
      const out = await proxy([rule(`host.example:${port}`)], async () => ['93.184.215.14', address]);
      expect(await tunnel(out, `host.example:${port}`)).toMatch(
        /^HTTP\/1\.1 403 .*which is not on the internet/s,
      );
      expect(out.refused).toEqual([{ host: `host.example:${port}`, why: expect.stringContaining(address) }]);
    }
    const literal = await proxy([rule(`127.0.0.1:${port}`)]);
    expect(await tunnel(literal, `127.0.0.1:${port}`)).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('connects to the address that was judged, whatever the name says a moment later', async () => {
    const port = await greeter();
    let asked = 0;
    const out = await proxy([rule(`host.example:${port}`, true)], async () => {
      asked += 1;
      return asked === 1 ? ['127.0.0.1'] : ['127.0.0.2'];
    });
    expect(await tunnel(out, `host.example:${port}`)).toMatch(/hello/);
    expect(asked).toBe(1);
  });

  it('hands a plain request on with the name that was judged, and without what concerns the proxy', async () => {
    const seen: unknown[] = [];
    const server = createHttpServer((message, response) => {
      seen.push({ url: message.url, headers: message.headers });
      response.setHeader('x-answer', 'yes').end('page');
    });
    const port = await listening(server);
    const out = await proxy([rule(`host.example:${port}`, true)], async () => ['127.0.0.1']);
    const answer = await say(
      out.socketPath,
      `GET http://host.example:${port}/a?b=c HTTP/1.1\r\nHost: inside.example\r\nProxy-Authorization: Basic eA==\r\n` +
        'Connection: close, X-Secret\r\nX-Secret: 1\r\nX-Kept: 2\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*x-answer: yes.*page/is);
    expect(seen).toEqual([
      { url: '/a?b=c', headers: { host: `host.example:${port}`, 'x-kept': '2', connection: 'close' } },
    ]);
    for (const bad of ['/a', 'https://host.example/', 'ftp://host.example/']) {
      expect(
        await say(out.socketPath, `GET ${bad} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
      ).toMatch(/^HTTP\/1\.1 400 /);
    }
    expect(await say(out.socketPath, 'not http\r\n\r\n')).toBe('');
  });

  it('says so when nobody answers', async () => {
    const out = await proxy([rule('host.example:9', true)], async () => ['127.0.0.1']);
    expect(await tunnel(out, 'host.example:9')).toMatch(/^HTTP\/1\.1 502 /);
    expect(out.refused).toEqual([]);
    const nowhere = await proxy([rule('host.example')], async () => {
      throw new Error('ENOTFOUND');
    });
    expect(await tunnel(nowhere, 'host.example:443')).toMatch(/^HTTP\/1\.1 403 .*leads to no address/s);
  });

  it('listens below a path longer than a socket’s may be, cuts everything at its end, and leaves no socket', async () => {
    const deep = join(here.path, 'd'.repeat(100));
    await mkdir(deep);
    const socketPath = join(deep, 'egress.sock');
    const held = createServer(() => {});
    const port = await listening(held);
    const running = await EgressProxy.start({
      socketPath,
      rules: [rule(`127.0.0.1:${port}`, true)],
      onRefused: () => {},
    });
    // By a shorter way: the client has the same limit.
    await symlink(deep, join(here.path, 'short'));
    const client = connect({ path: join(here.path, 'short', 'egress.sock') });
    client.on('error', () => {});
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    await once(client, 'data');
    const closed = once(client, 'close');
    await running.close();
    await closed;
    await expect(stat(socketPath)).rejects.toThrow(/ENOENT/);
  });
});

describeWithTool('bwrap', 'a sandbox with a network list:', () => {
  for (const provider of [new Bubblewrap(), new SandboxRuntime()]) describeNetworkList(provider);
});

it('a sandbox that could not keep a command to a network list refuses it', async () => {
  const folders = await attemptIn(here.path);
  const { argv: _, ...spec } = specOf(folders, '');
  const result = await new CommandRuntime(new PidNamespace()).run({
    ...spec,
    argv: ['/bin/true'],
    network: { rules: [rule('example.com')], folder: folders.worker },
    limits: { wallClockMs: 20_000, silenceMs: 20_000, sandboxStartMs: 20_000, outputBytes: 100_000 },
    logPath: join(here.path, 'agent.log'),
    isTrusted: true,
    signal: new AbortController().signal,
  });
  expect(result).toMatchObject({ kind: 'start-failed', detail: expect.stringContaining('network list') });
});
