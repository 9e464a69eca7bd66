/** What every sandbox provider must do, whatever it hides. Run over each that works on this machine. */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endMarked, endSandbox, type SandboxProcess, type SandboxProvider } from '@headgate/runtimes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attemptIn, endOf, otherWorker, specOf, unique } from './attempts.js';
import { build, eventually, type Place, place, processesNamed } from './places.js';

const none = async (text: string): Promise<true | null> =>
  (await processesNamed(text)).length === 0 ? true : null;

/** Of the sleepers, not of the shells that name them. */
const sleeping = async (text: string): Promise<readonly string[]> =>
  (await promisify(execFile)('ps', ['-eo', 'args=', '-ww'])).stdout
    .split('\n')
    .filter((line) => line === `sleep 600.${text}`);

/** Ways to leave the process group and session that a command was started in. */
const WAYS_OUT = [
  ['a session of its own', (work: string) => `setsid ${work} &`],
  ['a child whose parent has ended', (work: string) => `(setsid ${work} & ) &`],
  ['nohup', (work: string) => `nohup ${work} >/dev/null 2>&1 &`],
] as const;

/** A daemon as they are written: two forks, a session, another folder, nothing open, no environment to be found by. */
const daemon = (work: string): string =>
  `perl -MPOSIX -e 'exit if fork; setsid; exit if fork; chdir "/"; open $_, "/dev/null" for STDIN, STDOUT, STDERR; ` +
  `%ENV = (); exec @ARGV' ${work.replace(/ &$/, '')}; `;

/** Those that only a namespace holds; without one a process that clears its environment is out of reach. */
const waysOutOf = ({
  isolation,
}: SandboxProvider): readonly (readonly [string, (work: string) => string])[] =>
  isolation === 'none' ? WAYS_OUT : [...WAYS_OUT, ['a daemon without an environment', daemon] as const];

export function describeProvider(provider: SandboxProvider): void {
  describe(provider.name, () => {
    let here: Place;
    let folders: Awaited<ReturnType<typeof attemptIn>>;
    beforeAll(async () => {
      await build();
      here = await place();
      folders = await attemptIn(here.path);
    });
    afterAll(() => here.remove());

    const start = (script: string): SandboxProcess => {
      const running = provider.start(specOf(folders, script));
      running.stdout.resume();
      running.stderr.resume();
      return running;
    };
    const end = (script: string, env: Readonly<Record<string, string>> = {}) =>
      endOf(provider, specOf(folders, script, { env }));

    it('gives the output and the exit code of the command', async () => {
      expect(await end('echo out; exit 7')).toEqual({ code: 7, output: 'out\n' });
    });

    it('tells by its code which signal ended the command', async () => {
      expect(await end('kill -KILL $$')).toMatchObject({ code: 137 });
    });

    it('hands in the given environment and no more than its marker', async () => {
      process.env['HEADGATE_TEST_CANARY'] = 'canary-of-the-worker';
      try {
        const spec = {
          ...specOf(folders, 'env'),
          env: { PATH: '/usr/bin:/bin', A: 'with = and "quotes"\nand lines' },
        };
        const { output } = await endOf(provider, spec);
        expect(output).toContain('A=with = and "quotes"\nand lines\n');
        const names = output.split('\n').flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? []);
        const ofTheShell = ['PWD', 'OLDPWD', 'SHLVL', '_'];
        expect(names.filter((name) => !ofTheShell.includes(name)).sort()).toEqual([
          'A',
          'HEADGATE_SANDBOX',
          'PATH',
        ]);
      } finally {
        delete process.env['HEADGATE_TEST_CANARY'];
      }
    });

    it('has stdin closed, starts in the workspace, and keeps what is written there', async () => {
      const { code, output } = await end('cat; pwd; cat "$HEADGATE_INPUT"; echo left > left');
      expect({ code, output }).toEqual({ code: 0, output: `${folders.workspace}\n{"asked":"this"}\n` });
      expect(await end('cat left')).toMatchObject({ output: 'left\n' });
    });

    it('asks the command to stop', async () => {
      const running = provider.start(
        specOf(folders, 'trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.05; done'),
      );
      let text = '';
      running.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text === 'up\n') void running.started.then(() => running.terminate());
      });
      running.stderr.resume();
      expect(await running.exited).toEqual({ code: 0 });
      expect(text).toBe('up\nbye\n');
    });

    it.each(waysOutOf(provider))('Q5: leaves nothing behind when it is killed: %s', async (_, leave) => {
      const text = unique();
      const running = start(`${leave(`sleep 600.${text}`)} sleep 600.${text}`);
      await eventually('both processes run', async () => ((await sleeping(text)).length >= 2 ? true : null));
      running.kill();
      await running.exited;
      await eventually('nothing is left', () => none(`600.${text}`));
    });

    it('Q5: leaves nothing behind at whichever moment of its launch it is killed', async () => {
      const texts = Array.from({ length: 24 }, () => unique());
      const endings = texts.map(async (text, index) => {
        const running = start(`sleep 600.${text}`);
        await delay(index * 4);
        running.kill();
        await running.exited;
      });
      await Promise.all(endings);
      await eventually('nothing is left', async () =>
        (await Promise.all(texts.map((text) => none(`600.${text}`)))).every(Boolean) ? true : null,
      );
    });

    it('Q5: leaves nothing behind when the command ends by itself', async () => {
      const text = unique();
      const script = waysOutOf(provider)
        .map(([, leave]) => leave(`sleep 600.${text}`))
        .join('\n');
      expect(await start(`${script}\nexit 0`).exited).toEqual({ code: 0 });
      await eventually('nothing is left', () => none(`600.${text}`));
    });

    it('can be ended by its identity alone', async () => {
      const running = start('sleep 600');
      const started = await running.started;
      if (started.kind !== 'started') throw new Error(started.detail);
      expect(endSandbox(started.identity)).toBeGreaterThan(0);
      await running.exited;
      // One that was killed may still be ending; then there is nothing left to end.
      await eventually('nothing is left', async () => (endSandbox(started.identity) === 0 ? true : null));
    });

    it('says so when the command cannot be started', async () => {
      const running = provider.start({ ...specOf(folders, 'true'), cwd: '/no/such/folder' });
      running.stdout.resume();
      running.stderr.resume();
      expect(await running.started).toMatchObject({ kind: 'start-failed' });
      await running.exited;
    });

    it('Q4: a worker that is killed takes all of it with it', async () => {
      const text = unique();
      const ways = waysOutOf(provider).map(([, leave]) => leave(`sleep 600.${text}`));
      const spec = specOf(folders, `${ways.join('\n')}\nsleep 600.${text}`);
      const worker = otherWorker({ provider: provider.name, spec });
      expect(await worker.started).toMatchObject({ kind: 'started' });
      await eventually('all of them run', async () =>
        (await sleeping(text)).length === ways.length + 1 ? true : null,
      );
      await worker.kill();
      // Without a namespace the kernel ends the command alone; the sweep ends the rest by its marker.
      if (provider.isolation === 'none') endMarked(spec.marker);
      await eventually('nothing is left', () => none(`600.${text}`));
    });
  });
}
