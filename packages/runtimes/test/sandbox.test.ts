import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import {
  chooseSandbox,
  endMarked,
  endSandbox,
  identify,
  isAlive,
  PidNamespace,
  ProcessGroup,
  type SandboxProcess,
  type SandboxProvider,
} from '@headgate/runtimes';
import { beforeAll, describe, expect, it } from 'vitest';
import { build, eventually, processesNamed } from './places.js';

const namespace = new PidNamespace();
const hasNamespace = (await namespace.probe()).kind === 'available';
const providers: readonly SandboxProvider[] = hasNamespace
  ? [namespace, new ProcessGroup()]
  : [new ProcessGroup()];

let counter = 0;
/** Unique on the machine, so that other tests' processes are never counted. */
function unique(): string {
  counter += 1;
  return `${process.pid}${counter}`;
}

const start = (provider: SandboxProvider, script: string, marker = `m-${unique()}`): SandboxProcess =>
  provider.start({
    argv: ['/bin/sh', '-c', script],
    cwd: '/tmp',
    env: { PATH: '/usr/bin:/bin', A: '1' },
    marker,
  });

async function output(process: SandboxProcess): Promise<string> {
  let text = '';
  process.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  process.stderr.resume();
  await process.exited;
  return text;
}

const none = async (text: string): Promise<true | null> =>
  (await processesNamed(text)).length === 0 ? true : null;

describe.each(providers.map((provider) => ({ name: provider.name, provider })))('$name', ({ provider }) => {
  it('gives the output and the exit code of the command', async () => {
    const process = start(provider, 'echo out; exit 7');
    expect(await output(process)).toBe('out\n');
    expect(await process.exited).toEqual({ code: 7 });
  });

  it('hands in the given environment and no more than its marker', async () => {
    const names = (await output(start(provider, 'env')))
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(names.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name ?? '')).sort()).toEqual([
      'A',
      'HEADGATE_SANDBOX',
      'PATH',
    ]);
  });

  it('has stdin closed', async () => {
    expect(await output(start(provider, 'cat; echo end'))).toBe('end\n');
  });

  it('asks the command to stop', async () => {
    const process = start(provider, 'trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.05; done');
    let text = '';
    process.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text === 'up\n') void process.started.then(() => process.terminate());
    });
    process.stderr.resume();
    expect(await process.exited).toEqual({ code: 0 });
    expect(text).toBe('up\nbye\n');
  });

  it('leaves nothing behind when it is killed, sessions of their own included', async () => {
    const text = unique();
    const process = start(provider, `setsid sleep 600.${text} & sleep 600.${text}`);
    process.stdout.resume();
    process.stderr.resume();
    await eventually('both processes run', async () =>
      (await processesNamed(`sleep 600.${text}`)).length >= 2 ? true : null,
    );
    process.kill();
    await process.exited;
    await eventually('nothing is left', () => none(`600.${text}`));
  });

  it('leaves nothing behind when the command ends by itself', async () => {
    const text = unique();
    const process = start(provider, `setsid sleep 600.${text} & exit 0`);
    process.stdout.resume();
    process.stderr.resume();
    expect(await process.exited).toEqual({ code: 0 });
    await eventually('nothing is left', () => none(`600.${text}`));
  });

  it('can be ended by its identity alone', async () => {
    const process = start(provider, 'sleep 600');
    process.stdout.resume();
    process.stderr.resume();
    const started = await process.started;
    if (started.kind !== 'started') throw new Error(started.detail);
    expect(endSandbox(started.identity)).toBeGreaterThan(0);
    await process.exited;
    expect(endSandbox(started.identity)).toBe(0);
  });

  it('says so when the command cannot be started', async () => {
    const process = provider.start({
      argv: ['/bin/true'],
      cwd: '/no/such/folder',
      env: {},
      marker: `m-${unique()}`,
    });
    process.stdout.resume();
    process.stderr.resume();
    expect(await process.started).toMatchObject({ kind: 'start-failed' });
    await process.exited;
  });
});

describe('when the worker is killed', () => {
  beforeAll(build);

  const worker = fileURLToPath(new URL('./sandbox-worker.mjs', import.meta.url));
  async function killedWorker(provider: string, text: string, uid?: number): Promise<void> {
    const child = spawn(process.execPath, [worker, provider, text], {
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: '/tmp',
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    expect(JSON.parse(said.toString())).toMatchObject({ kind: 'started' });
    await eventually('the sandbox works', async () =>
      (await processesNamed(`sleep 600.${text}`)).length >= 2 ? true : null,
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  it.skipIf(!hasNamespace)('Q4: the kernel ends all of a PID namespace, setsid or not', async () => {
    const text = unique();
    await killedWorker('pid-namespace', text);
    await eventually('nothing is left', () => none(`600.${text}`));
  });

  it.skipIf(!hasNamespace || process.getuid?.() !== 0)('Q4: the same as an ordinary user', async () => {
    const text = unique();
    await killedWorker('pid-namespace', text, 65534);
    await eventually('nothing is left', () => none(`600.${text}`));
  });

  it('what a process group leaves is found by its marker', async () => {
    const text = unique();
    await killedWorker('process-group', text);
    await eventually('nothing is left', async () => {
      endMarked(`marker-${text}`);
      return none(`600.${text}`);
    });
  });
});

describe('chooseSandbox', () => {
  it('takes the strongest that works, and warns while agents are not isolated', async () => {
    const chosen = await chooseSandbox();
    expect(chosen.provider.name).toBe(hasNamespace ? 'pid-namespace' : 'process-group');
    expect(chosen.provider.mayRunUntrusted).toBe(false);
    expect(chosen.warning).toMatch(/only the example agent may run/);
  });

  it('falls back when a provider does not work, and keeps what each said', async () => {
    const broken: SandboxProvider = {
      name: 'broken',
      isolation: 'bubblewrap',
      mayRunUntrusted: true,
      probe: async () => ({ kind: 'unavailable', detail: 'no user namespaces', remedy: 'sysctl' }),
      start: () => {
        throw new Error('never started');
      },
    };
    const chosen = await chooseSandbox([broken, new ProcessGroup()]);
    expect(chosen.provider.name).toBe('process-group');
    expect(chosen.probes[0]).toMatchObject({ name: 'broken', probe: { kind: 'unavailable' } });
    await expect(chooseSandbox([broken])).rejects.toThrow(/no user namespaces/);
  });
});

describe('process identity', () => {
  it('is not fooled by a number that is used again', () => {
    const self = identify(process.pid);
    if (self === null) throw new Error('this process runs');
    expect(isAlive(self)).toBe(true);
    expect(isAlive({ ...self, startTicks: '1' })).toBe(false);
    expect(isAlive({ ...self, bootId: 'another boot' })).toBe(false);
  });
});
