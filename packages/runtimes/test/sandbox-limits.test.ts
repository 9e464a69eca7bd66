/** Each limit bites. What the commands here eat is bounded by themselves as well. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import {
  type AttemptFolders,
  Bubblewrap,
  defaultLimits,
  type SandboxLimits,
  SandboxRuntime,
} from '@headgate/runtimes';
import { describeWithTool } from '@headgate/testkit';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ControlGroups } from '../src/sandbox/limit/control-group.js';
import { attemptIn, type Ended, endOf, otherWorker, specOf } from './attempts.js';
import { build, type Place, place } from './places.js';

const MIB = 1024 * 1024;

/** Each as what it limits: the commands here are ended by nothing else. */
const ALL = ['memory', 'cpu', 'processes', 'disk', 'output'] as const;
const hasControlGroups = ControlGroups.find().limits('memory');

describeWithTool('bwrap', 'the limits of a sandbox', () => {
  let here: Place;
  let folders: AttemptFolders;
  beforeEach(async () => {
    here = await place();
    folders = await attemptIn(here.path);
  });
  afterEach(() => here.remove());

  describe.each([
    ['bubblewrap with control groups, where we may make them', new Bubblewrap(), true],
    ['bubblewrap without', new Bubblewrap({ controlGroups: false }), true],
    ['sandbox-runtime with control groups, where we may make them', new SandboxRuntime(), hasControlGroups],
    ['sandbox-runtime without', new SandboxRuntime({ controlGroups: false }), false],
  ] as const)('%s', (_, provider, limitsMemory) => {
    beforeAll(async () => {
      const limits = ALL.filter((name) => name !== 'memory' || limitsMemory);
      expect(await provider.probe()).toMatchObject({ kind: 'available', limits });
    });
    const end = (script: string, limits: Partial<SandboxLimits>): Promise<Ended> =>
      endOf(provider, specOf(folders, script, { limits }));

    it.skipIf(!limitsMemory)('Q30: memory of all processes together', async () => {
      // Each is within the limit.
      const eater = `perl -e '$x = "x" x (48 << 20); sleep 60' &`;
      const { exceeded } = await end(`${eater} ${eater} ${eater} ${eater} wait; sleep 60`, {
        memoryBytes: 120 * MIB,
      });
      expect(exceeded).toBe('memory');
    });

    it('Q30: processor time of all processes together', async () => {
      const burner = 'timeout 30 sh -c "while :; do :; done" &';
      expect((await end(`${burner} ${burner} wait`, { cpuMs: 700 })).exceeded).toBe('cpu');
    });

    it('Q30: processes', async () => {
      const forks =
        'my $n = 0; while ($n < 200) { my $p = fork; last unless defined $p; $p or exec "sleep", 60; $n++ } print $n';
      const { code, output } = await end(`perl -e '${forks}'`, { processes: 40 });
      expect(code).toBe(0);
      expect(Number(output)).toBeGreaterThan(20);
      expect(Number(output)).toBeLessThan(40);
    });

    it('Q30: disk, in many files and in one', async () => {
      const limits = { diskBytes: 8 * MIB };
      const many = 'for n in 1 2 3 4; do head -c 4M /dev/zero > "file$n"; done; sleep 60';
      expect((await end(many, limits)).exceeded).toBe('disk');
      const one = await end('head -c 64M /dev/zero > one', limits);
      expect(one.exceeded).toBe('disk');
      const { stdout } = await promisify(execFile)('stat', ['-c', '%s', `${folders.workspace}/one`]);
      expect(Number(stdout)).toBeLessThanOrEqual(9 * MIB);
    });

    it('Q30: what lies in memory: home, temporary files, shared memory', async () => {
      // The library's /dev/shm has no size: with a control group it counts as memory, and without one is not promised.
      const isSized = provider.name === 'bubblewrap';
      const places = `"$HOME" "$TMPDIR" /tmp ${isSized ? '/dev/shm' : ''}`;
      const fill = `for place in ${places}; do head -c 40M /dev/zero > "$place/x" || echo full; rm "$place/x"; done`;
      const { output } = await end(fill, { memoryBytes: 64 * MIB });
      expect(output.match(/^full$/gm)).toHaveLength(isSized ? 4 : 3);
    });

    it.skipIf(!limitsMemory)('Q30: no more lies in shared memory than memory may be used', async () => {
      const fill = 'head -c 400M /dev/zero > /dev/shm/x || echo full; sleep 0.2; rm -f /dev/shm/x';
      const { output, exceeded } = await end(fill, { memoryBytes: 120 * MIB });
      expect({ isFull: output.includes('full'), exceeded }).not.toEqual({
        isFull: false,
        exceeded: undefined,
      });
    });

    it('leaves a command within them alone', async () => {
      const modest = `perl -e '$x = "x" x (20 << 20)'; head -c 1M /dev/zero > file; echo done`;
      const limits = { memoryBytes: 200 * MIB, cpuMs: 20_000, processes: 20, diskBytes: 20 * MIB };
      expect(await end(modest, limits)).toEqual({ code: 0, output: 'done\n' });
    });

    it('leaves no control group behind', async () => {
      await end('true', {});
      const left = ['memory', 'pids', 'cpuacct', '.'].flatMap((name) => {
        try {
          return readdirSync(`/sys/fs/cgroup/${name}`, { recursive: true, encoding: 'utf8' });
        } catch {
          return [];
        }
      });
      expect(left.filter((name) => name.includes(`headgate.${process.pid}-`))).toEqual([]);
    });
  });

  it.skipIf(process.getuid?.() !== 0)(
    'Q30: disk that an agent of the worker’s own user closes to it',
    async () => {
      await build();
      await promisify(execFile)('chown', ['-R', '65534:65534', here.path]);
      const hide =
        'mkdir hidden; for n in 1 2 3; do head -c 8M /dev/zero > hidden/$n; done; chmod 000 hidden; sleep 60';
      const spec = specOf(folders, hide, { limits: { diskBytes: 16 * MIB } });
      const worker = otherWorker({ provider: 'bubblewrap', spec }, 65_534);
      expect(await worker.started).toMatchObject({ kind: 'started' });
      expect(await worker.ended).toMatchObject({ exceeded: 'disk' });
    },
  );

  it('leave a quarter of a small machine to everybody else', () => {
    expect(defaultLimits(4 * 1024 * MIB).memoryBytes).toBe(3 * 1024 * MIB);
    expect(defaultLimits(256 * 1024 * MIB).memoryBytes).toBe(8 * 1024 * MIB);
  });
});
