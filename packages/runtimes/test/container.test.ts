/** With podman where it runs, or with what HEADGATE_TEST_CONTAINER names (`container-engine.ts`). */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Container } from '@headgate/runtimes';
import { afterAll, describe, expect, it } from 'vitest';
import { attemptIn, endOf, specOf } from './attempts.js';
import { containerEngine } from './container-engine.js';
import { describeNetworkList } from './network-conformance.js';
import { place } from './places.js';
import { describeProvider } from './sandbox-conformance.js';

const MIB = 1024 * 1024;

it('says which engine does not answer, and the one command that mends it', async () => {
  const none = await new Container({ engine: 'no-such-engine' }).probe();
  expect(none).toMatchObject({ kind: 'unavailable', remedy: 'apt-get install podman' });
  // An engine that fails, whatever the machine has.
  const broken = await new Container({ engine: '/bin/false' }).probe();
  expect(broken).toMatchObject({ kind: 'unavailable', remedy: 'systemctl start docker' });
});

it('says which image is missing', async () => {
  // An engine that answers everything but what concerns images.
  const here = await place();
  try {
    const { writeFile } = await import('node:fs/promises');
    const engine = `${here.path}/docker`;
    await writeFile(engine, '#!/bin/sh\n[ "$1" = info ]\n', { mode: 0o755 });
    const probe = await new Container({ engine, image: 'agents:1' }).probe();
    expect(probe).toMatchObject({ kind: 'unavailable', detail: `${engine} has no image agents:1` });
    expect(probe).toMatchObject({ remedy: `${engine} pull agents:1` });
  } finally {
    await here.remove();
  }
});

const engine = await containerEngine();
afterAll(() => engine.remove());
// An engine takes more than to be installed, so it is not among what is required where all tools are.
if (engine.kind === 'missing')
  describe.skip(`container (skipped: ${engine.why})`, () => it('conforms', () => {}));
else {
  const provider = new Container(engine.options);
  it('works here', async () => {
    expect(await provider.probe()).toMatchObject({ kind: 'available' });
  });
  describeProvider(provider);
  describe('with a network list:', () => describeNetworkList(provider));

  it('INV-TE2: a container shows its own folders, no process, no network and no privilege', async () => {
    const here = await place();
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    try {
      await once(server, 'listening');
      const folders = await attemptIn(here.path);
      const script = [
        `cat ${here.path}/data/admin-token ${folders.worker}/owner.json 2>/dev/null && echo read`,
        `for place in / /etc /usr ${folders.input}; do touch "$place/x" 2>/dev/null && echo "wrote $place"; done`,
        'for place in "$HOME" "$TMPDIR" /tmp . "$(dirname "$HEADGATE_RESULT")"; do touch "$place/x" || echo "not $place"; done',
        'ls /sys/class/net; grep CapEff /proc/self/status; id -u; ls -d /proc/[0-9]* | wc -l',
      ].join('\n');
      const { output } = await endOf(provider, specOf(folders, script));
      const [network, capabilities, uid, processes, ...rest] = output.trim().split('\n');
      expect([network, capabilities, rest]).toEqual(['lo', 'CapEff:\t0000000000000000', []]);
      expect(Number(uid)).not.toBe(0);
      expect(Number(processes)).toBeLessThan(8);
    } finally {
      server.close();
      await here.remove();
    }
  });

  it('Q30: disk and memory of a container are limited', async () => {
    const here = await place();
    try {
      const folders = await attemptIn(here.path);
      const write = 'for n in 1 2 3 4; do head -c 4000000 /dev/zero > "file$n"; done; sleep 60';
      const disk = await endOf(provider, specOf(folders, write, { limits: { diskBytes: 8 * MIB } }));
      expect(disk.exceeded).toBe('disk');
      // The kernel chooses who of the container ends, which may be the shell. One line, so `sort` holds it whole.
      const eat = 'head -c 100000000 /dev/zero | sort > /dev/null && echo eaten';
      const eatWith = (memoryBytes: number) =>
        endOf(provider, specOf(folders, eat, { limits: { memoryBytes } }));
      const little = await eatWith(64 * MIB);
      expect(little.output).not.toContain('eaten');
      expect(little.code).toBe(137);
      expect(await eatWith(1024 * MIB)).toEqual({ code: 0, output: 'eaten\n' });
    } finally {
      await here.remove();
    }
  });
}
