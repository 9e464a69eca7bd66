/** Ways out by the kernel, tried by an agent that knows them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, stat, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AttemptFolders, Bubblewrap, type SandboxProvider, SandboxRuntime } from '@headgate/runtimes';
import { describeWithTool } from '@headgate/testkit';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemCallFilter } from '../src/sandbox/bubblewrap/system-call-filter.js';
import { attemptIn, endOf, otherWorker, specOf, unique } from './attempts.js';
import { build, eventually, type Place, place } from './places.js';

const PROVIDERS: readonly SandboxProvider[] = [new Bubblewrap(), new SandboxRuntime()];

describeWithTool('bwrap', 'nobody escapes', () => {
  describe.each(PROVIDERS.map((provider) => [provider.name, provider] as const))('%s', (name, provider) => {
    let here: Place;
    let folders: AttemptFolders;
    const servers: Server[] = [];
    beforeAll(async () => {
      await build();
      expect(await provider.probe()).toMatchObject({ kind: 'available' });
    }, 120_000);
    beforeEach(async () => {
      here = await place();
      folders = await attemptIn(here.path);
      for (const file of ['escapist.pl', 'heirlooms.pl']) {
        await copyFile(fileURLToPath(new URL(`./${file}`, import.meta.url)), join(folders.workspace, file));
      }
    });
    afterEach(async () => {
      for (const server of servers.splice(0)) server.close();
      await here.remove();
    });

    const listening = async (
      where: { readonly port: number; readonly host: string } | { readonly path: string },
    ) => {
      const server = createServer((socket) => socket.end('host')).listen(where);
      await once(server, 'listening');
      servers.push(server);
      return server.address();
    };

    it('by keys, calls, devices, sockets, descriptors or doors of /proc', async () => {
      const address = await listening({ port: 0, host: '127.0.0.1' });
      if (address === null || typeof address === 'string') throw new Error('it listens on a port');
      const abstract = `headgate-${unique()}`;
      await listening({ path: `\0${abstract}` });
      const script = `perl escapist.pl ${address.port} ${abstract}`;
      // A worker of somebody who signed in, started by a program that left a file open.
      const under = ['perl', join(folders.workspace, 'heirlooms.pl')];
      const worker = otherWorker({ provider: name, spec: specOf(folders, script), under });
      expect(await worker.started).toMatchObject({ kind: 'started' });
      expect(await worker.ended).toEqual({ code: 0, output: 'done\n' });
    });

    it('by a server that the host would take for its own', async () => {
      const port = await freePort();
      const server = `require('net').createServer((s) => s.end('agent')).listen(${port}, '0.0.0.0', () => require('fs').writeFileSync('up', ''))`;
      const running = provider.start(specOf(folders, `exec node -e "${server}"`));
      running.stdout.resume();
      running.stderr.resume();
      await eventually('it listens inside', () => isThere(join(folders.workspace, 'up')));
      expect(await reaches(port)).toBe(false);
      running.kill();
      await running.exited;
    });

    it('by stopping all that it can see, itself included: it is ended all the same', async () => {
      const running = provider.start(
        specOf(folders, 'sleep 600 & touch up; kill -STOP -1; kill -STOP $$; sleep 600'),
      );
      running.stdout.resume();
      running.stderr.resume();
      await eventually('it runs', () => isThere(join(folders.workspace, 'up')));
      running.kill();
      expect(await running.exited).toMatchObject({ code: 137 });
    });

    it('by a program for 32 bits, whose calls have other numbers', async ({ skip }) => {
      const program = join(folders.workspace, 'program');
      await writeFile(program, programFor32Bits(), { mode: 0o755 });
      const [onTheHost] = await once(spawn(program), 'exit').catch(() => [null]);
      if (onTheHost !== 7) skip('this machine runs no program for 32 bits');
      const { code } = await endOf(provider, specOf(folders, './program'));
      expect(code).not.toBe(7);
    });
  });

  it('where memory has no group, nor by memory that belongs to nobody', async () => {
    const here = await place();
    const folders = await attemptIn(here.path);
    const arm = process.arch === 'arm64';
    const [memfd, shmget] = arm ? [279, 194] : [319, 29];
    const script = [
      `my $name = "x"; print syscall(${memfd}, $name, 0) < 0 ? "no memfd\\n" : "memfd\\n";`,
      `print syscall(${shmget}, 0, 1 << 30, 0600) < 0 ? "no segment\\n" : "segment\\n";`,
      `print syscall(${shmget}, 0, 4096, 0600) < 0 ? "no small segment\\n" : "small segment\\n";`,
    ].join(' ');
    await writeFile(join(folders.workspace, 'memory.pl'), script);
    const provider = new Bubblewrap({ controlGroups: false });
    expect(await endOf(provider, specOf(folders, 'perl memory.pl'))).toEqual({
      code: 0,
      output: 'no memfd\nno segment\nsmall segment\n',
    });
    await here.remove();
  });
});

describe('systemCallFilter', () => {
  it.each(['x64', 'arm64'])('is a program of whole instructions that ends by allowing: %s', (processor) => {
    for (const hasMemoryGroup of [true, false]) {
      const program = systemCallFilter({ hasMemoryGroup, processor });
      expect((program?.length ?? 1) % 8).toBe(0);
      expect(program?.subarray(-8).toString('hex')).toBe('060000000000ff7f');
    }
  });

  it('there is none for a processor whose numbers are not known', () => {
    expect(systemCallFilter({ hasMemoryGroup: true, processor: 'riscv64' })).toBeNull();
  });
});

const isThere = (path: string): Promise<true | null> =>
  stat(path).then(
    () => true,
    () => null,
  );

/** One that nobody here listens on, below those that the kernel gives to whoever takes any. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (!(await reaches(port))) return port;
  }
}

const reaches = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });

/** An executable of i386 that asks to exit with 7, and does nothing else. */
function programFor32Bits(): Buffer {
  const header = [
    ...['7f454c46010101000000000000000000', '0200', '0300', '01000000', '54800408', '34000000', '00000000'],
    ...['00000000', '3400', '2000', '0100', '0000', '0000', '0000'],
  ];
  const segment = [
    '01000000',
    '00000000',
    '00800408',
    '00800408',
    '60000000',
    '60000000',
    '05000000',
    '00100000',
  ];
  // mov eax, 1; mov ebx, 7; int 0x80
  const code = ['b801000000', 'bb07000000', 'cd80'];
  return Buffer.from([...header, ...segment, ...code].join(''), 'hex');
}
