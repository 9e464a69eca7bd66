/** What every sandbox provider that takes a network list must do with one. */
import { once } from 'node:events';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type NetworkRule, parseHostAndPort } from '@headgate/domain';
import { type AttemptFolders, CommandRuntime, type SandboxProvider } from '@headgate/runtimes';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { attemptIn, specOf } from './attempts.js';
import { build, eventually, type Place, place } from './places.js';

export const rule = (text: string, allowPrivate = false): NetworkRule => {
  const read = parseHostAndPort(text);
  if (read === null) throw new Error(`${text} is no rule`);
  return { ...read, allowPrivate };
};

interface Given {
  readonly argv: readonly string[];
  readonly rules: readonly NetworkRule[];
  readonly signal?: AbortSignal;
}

export function describeNetworkList(provider: SandboxProvider): void {
  describe(provider.name, () => {
    let here: Place;
    let folders: AttemptFolders;
    const open: { close(): unknown }[] = [];
    beforeAll(async () => {
      await build();
      expect(await provider.probe()).toMatchObject({ kind: 'available' });
    }, 120_000);
    beforeEach(async () => {
      here = await place();
      folders = await attemptIn(here.path);
      await writeFile(join(folders.workspace, 'client.mjs'), CLIENT);
      await chmod(join(folders.workspace, 'client.mjs'), 0o644);
    });
    afterEach(async () => {
      for (const one of open.splice(0)) await one.close();
      await here.remove();
    });

    const greeter = async (): Promise<number> => {
      const server = createServer((socket) => socket.end('hello from the host')).listen(0, '127.0.0.1');
      await once(server, 'listening');
      open.push(server);
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('it listens on a port');
      return address.port;
    };
    const run = ({ argv, rules, signal = new AbortController().signal }: Given) =>
      new CommandRuntime(provider).run({
        ...specOf(folders, ''),
        argv,
        network: { rules, folder: folders.worker },
        limits: { wallClockMs: 60_000, silenceMs: 60_000, sandboxStartMs: 60_000, outputBytes: 100_000 },
        logPath: join(here.path, 'agent.log'),
        isTrusted: false,
        signal,
      });
    const log = (): Promise<string> => readFile(join(here.path, 'agent.log'), 'utf8');
    const client = (...words: readonly string[]) => [process.execPath, 'client.mjs', ...words];

    it('reaches what is listed through the proxy, and every refusal stands in its log', async () => {
      const port = await greeter();
      const other = await greeter();
      const rules = [rule(`127.0.0.1:${port}`, true), rule(`127.0.0.1:${other}`)];
      const argv = client(`127.0.0.1:${port}`, `127.0.0.1:${other}`, 'example.com:443');
      expect(await run({ argv, rules })).toMatchObject({ kind: 'exited', code: 0 });
      expect((await log()).split('\n')).toEqual(
        expect.arrayContaining([
          `127.0.0.1:${port} 200 hello from the host`,
          `127.0.0.1:${other} 403`,
          'example.com:443 403',
          `[headgate] network: "127.0.0.1:${other}" was refused: it leads to 127.0.0.1, which is not on the internet; its rule would need "private: true"`,
          '[headgate] network: "example.com:443" was refused: it is not in the network list of this command',
        ]),
      );
    });

    it('reaches nothing past the proxy: no interface but its own loopback, no name, no host port', async () => {
      const port = await greeter();
      await run({ argv: client('direct', String(port)), rules: [rule(`127.0.0.1:${port}`, true)] });
      expect(await log()).toContain('direct connection refused');
      expect(await log()).toContain('interfaces lo\n');
      expect(await log()).toContain('name not found');
    });

    it('ends with the command’s own code and signal, and is asked to stop like any other', async () => {
      const rules = [rule('example.com')];
      const shell = (script: string) => ['/bin/sh', '-c', script];
      expect(await run({ argv: shell('exit 7'), rules })).toMatchObject({ kind: 'exited', code: 7 });
      expect(await run({ argv: shell('kill -KILL $$'), rules })).toMatchObject({ kind: 'exited', code: 137 });
      const stopping = new AbortController();
      const waiting = shell('trap "echo asked; exit 0" TERM; touch up; while :; do sleep 0.05; done');
      const stopped = run({ argv: waiting, rules, signal: stopping.signal });
      await eventually('it runs', () => stat(join(folders.workspace, 'up')).catch(() => null));
      stopping.abort();
      expect(await stopped).toMatchObject({ kind: 'killed', tail: 'asked\n' });
    });
  });
}

/** Asks for each target through the proxy that the environment names, or tries to do without. */
const CLIENT = `
import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
const targets = process.argv.slice(2);
const proxy = new URL(process.env.HTTPS_PROXY);
if (targets[0] === 'direct') {
  const socket = connect(Number(targets[1]), '127.0.0.1');
  socket.on('error', () => console.log('direct connection refused'));
  console.log('interfaces ' + Object.keys(networkInterfaces()).join(' '));
  await lookup('example.com').catch(() => console.log('name not found'));
} else {
  for (const target of targets) {
    const socket = connect(Number(proxy.port), proxy.hostname);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text) => { answer += text; });
    socket.write('CONNECT ' + target + ' HTTP/1.1\\r\\nHost: ' + target + '\\r\\n\\r\\n');
    await new Promise((resolve) => socket.once('close', resolve));
    const [head, body = ''] = answer.split('\\r\\n\\r\\n');
    const status = head.split(' ')[1];
    console.log(target + ' ' + status + (status === '200' ? ' ' + body : ''));
  }
}
`;
