import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  agentEnvironment,
  CommandRuntime,
  chooseSandbox,
  foldersIn,
  LogArtifact,
  PidNamespace,
  ProcessGroup,
  type RuntimeInput,
  reasonOfOutcome,
  runCommands,
} from '@headgate/runtimes';
import { registerSecret } from '@headgate/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, type Place, place, processesNamed } from './places.js';

/** One that hides nothing: what isolates is tried in isolation.test.ts. */
const { provider } = await chooseSandbox([new PidNamespace(), new ProcessGroup()]);
const runtime = new CommandRuntime(provider);
const limits = { wallClockMs: 20_000, silenceMs: 20_000, sandboxStartMs: 10_000, outputBytes: 1_000_000 };

let here: Place;
beforeEach(async () => {
  here = await place();
});
afterEach(() => here.remove());

function input(script: string, changes: Partial<RuntimeInput> = {}): RuntimeInput {
  return {
    argv: ['/bin/sh', '-c', script],
    cwd: here.path,
    env: { PATH: '/usr/bin:/bin' },
    marker: `runtime-${process.pid}-${here.path}`,
    limits,
    logPath: join(here.path, 'artifacts', 'agent.log'),
    isTrusted: true,
    signal: new AbortController().signal,
    graceMs: 500,
    ...changes,
  };
}

describe('CommandRuntime', () => {
  it('Q8: keeps output, code and time of a command', async () => {
    const result = await runtime.run(input('echo out; echo err >&2; exit 3'));
    expect(result).toMatchObject({ kind: 'exited', code: 3, outputBytes: 8 });
    expect(result.wallMs).toBeGreaterThan(0);
    const log = await readFile(join(here.path, 'artifacts', 'agent.log'), 'utf8');
    expect(log.split('\n').sort()).toEqual(['', '[headgate] exited with 3', 'err', 'out']);
    expect(reasonOfOutcome(result)).toBe('AGENT_FAILED');
  });

  it("INV-TE2: an agent sees nothing of the worker's environment", async () => {
    process.env['HEADGATE_TEST_CANARY'] = 'canary-3b1f';
    try {
      const env = agentEnvironment(foldersIn(here.path), { FROM_ROUTE: 'yes', HOME: '/root' });
      const result = await runtime.run(
        input('env; cat /proc/1/environ /proc/self/environ | tr "\\0" "\\n"', { env }),
      );
      expect(result.tail).toContain('FROM_ROUTE=yes');
      expect(result.tail).toContain(`HOME=${foldersIn(here.path).home}`);
      expect(result.tail).not.toContain('canary-3b1f');
    } finally {
      delete process.env['HEADGATE_TEST_CANARY'];
    }
  });

  it('Q30: the wall clock is a limit', async () => {
    const tight = { ...limits, wallClockMs: 300 };
    const result = await runtime.run(input('while :; do echo x; sleep 0.02; done', { limits: tight }));
    expect(result).toMatchObject({ kind: 'timeout', which: 'wall-clock' });
    expect(reasonOfOutcome(result)).toBe('WALL_CLOCK_EXCEEDED');
  });

  it('Q30: silence is a limit, and a stop that ends with 0 stays a time-out', async () => {
    const tight = { ...limits, silenceMs: 300 };
    const result = await runtime.run(
      input('trap "exit 0" TERM; echo x; while :; do sleep 0.02; done', { limits: tight }),
    );
    expect(result).toMatchObject({ kind: 'timeout', which: 'silence' });
    expect(reasonOfOutcome(result)).toBe('SILENCE_TIMEOUT');
  });

  it('Q30: output is a limit, and the log stays within it', async () => {
    const tight = { ...limits, outputBytes: 10_000 };
    const result = await runtime.run(input('yes noise', { limits: tight }));
    expect(result).toMatchObject({ kind: 'output-limit', limitBytes: 10_000 });
    const log = await readFile(join(here.path, 'artifacts', 'agent.log'), 'utf8');
    expect(log.length).toBeLessThan(10_200);
    expect(log).toMatch(/\[headgate\] stopped: more than 10000 bytes/);
    expect(reasonOfOutcome(result)).toBe('OUTPUT_LIMIT');
  });

  it('Q5: an abort stops the command and all it started, also one that does not listen', async () => {
    const text = `${process.pid}77`;
    const controller = new AbortController();
    const running = runtime.run(
      input(`trap "" TERM; setsid sleep 600.${text} & while :; do sleep 600.${text}; done`, {
        signal: controller.signal,
        graceMs: 100,
        onStarted: () => controller.abort(),
      }),
    );
    expect(await running).toMatchObject({ kind: 'killed' });
    await eventually('nothing is left', async () =>
      (await processesNamed(`600.${text}`)).length === 0 ? true : null,
    );
  });

  it('Q5: a run that was cancelled before it began starts nothing', async () => {
    const controller = new AbortController();
    controller.abort();
    const result = await runtime.run(input('echo ran', { signal: controller.signal }));
    expect(result).toMatchObject({ kind: 'killed', outputBytes: 0, logPath: null });
  });

  it('a command that is not ours is refused without isolation, with the reason', async () => {
    const result = await runtime.run(input('echo ran', { isTrusted: false }));
    expect(result).toMatchObject({ kind: 'refused', reasonCode: 'NO_ISOLATION', outputBytes: 0 });
    expect(reasonOfOutcome(result)).toBe('NO_ISOLATION');
  });

  it('a sandbox that cannot start is told from a command that fails', async () => {
    const result = await runtime.run(input('true', { cwd: join(here.path, 'missing') }));
    expect(result.kind).toBe('start-failed');
    expect(reasonOfOutcome(result)).toBe('SANDBOX_FAILED');
  });

  it('INV-TE2: a secret is redacted even when it comes in two pieces', async () => {
    const forget = registerSecret('s3cret-of-a-tenant');
    const result = await runtime.run(input('printf "a s3cret-of"; sleep 0.2; echo -a-tenant b'));
    forget();
    expect(result.tail).toBe('a [redacted] b\n');
    expect(await readFile(join(here.path, 'artifacts', 'agent.log'), 'utf8')).not.toContain('s3cret');
  });
});

describe('LogArtifact', () => {
  /** Every way to hand it over in chunks of this many bytes. */
  const logOf = async (text: string, chunkBytes: number): Promise<{ file: string; tail: string }> => {
    const path = join(here.path, `log-${chunkBytes}`);
    const log = await LogArtifact.open(path, 10_000_000);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += chunkBytes)
      log.write('stdout', bytes.subarray(at, at + chunkBytes));
    await log.close(null);
    return { file: await readFile(path, 'utf8'), tail: log.tail };
  };
  const secret = 'tok_51f0c2a9-über-of-a-tenant';
  const spellings = [
    secret,
    Buffer.from(`ab${secret}`).toString('base64'),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('hex').toUpperCase(),
    JSON.stringify(secret).replace('ü', '\\u00fc'),
  ];

  it('INV-TE2: no secret stays whole or in part, wherever chunks and long lines are cut', async () => {
    const forget = registerSecret(secret);
    try {
      for (const spelling of spellings) {
        // Around the length at which a long line is cut, and within one chunk after another.
        for (const before of [0, 16_370, 16_383, 16_384, 32_760]) {
          const text = `${'.'.repeat(before)}${spelling}${'.'.repeat(40)}`;
          for (const chunkBytes of [1_000, 16_384, 65_536]) {
            const { file } = await logOf(text, chunkBytes);
            expect(file, `${spelling} at ${before}`).toContain('[redacted]');
            expect(file).not.toMatch(/tok_|51f0c2a9|of-a-tenant|NTFmMGMyYT|35316630/);
            expect(file.replace(/\[redacted\]|\n/g, '').length).toBeGreaterThanOrEqual(before + 40);
          }
        }
      }
    } finally {
      forget();
    }
  });

  it('INV-TE2: nor one whose pieces come byte by byte', async () => {
    const forget = registerSecret(secret);
    const { file, tail } = await logOf(`a ${secret} b\n`, 1);
    forget();
    expect(file).toBe('a [redacted] b\n');
    expect(tail).toBe('a [redacted] b\n');
  });

  it('keeps our own lines apart from the command’s, redacted too', async () => {
    const forget = registerSecret(secret);
    const path = join(here.path, 'notes.log');
    const log = await LogArtifact.open(path, 1_000);
    log.note(`network: "${secret}" was refused`);
    await log.close('exited with 0');
    forget();
    expect(await readFile(path, 'utf8')).toBe(
      '[headgate] network: "[redacted]" was refused\n[headgate] exited with 0\n',
    );
    expect(log.receivedBytes).toBe(0);
  });
});

describe('runCommands', () => {
  const run = (commands: readonly string[], changes: Partial<RuntimeInput> = {}) => {
    const { argv: _, logPath: __, ...rest } = input('', changes);
    const logPath = (index: number): string => join(here.path, 'artifacts', `verify-${index}.log`);
    return runCommands({ ...rest, stage: 'verify', commands, runtime, logPath });
  };

  it('runs all in order, each with its log', async () => {
    const result = await run(['echo one > a', 'cat a']);
    expect(result.kind).toBe('passed');
    expect(result.evidence.map((evidence) => evidence.tail)).toEqual(['', 'one\n']);
  });

  it('Q17: stops at the first that fails, and names it', async () => {
    const result = await run(['true', 'echo why; exit 4', 'echo never']);
    expect(result).toMatchObject({ kind: 'failed', reasonCode: 'VERIFIER_FAILED' });
    expect(result.evidence).toHaveLength(2);
    expect(result.evidence[1]?.tail).toBe('why\n');
  });

  it('Q30: the time is for all of them together', async () => {
    const tight = { ...limits, wallClockMs: 600 };
    const result = await run(['sleep 0.4', 'sleep 600'], { limits: tight });
    expect(result).toMatchObject({ kind: 'failed', reasonCode: 'VERIFIER_FAILED' });
  });

  it("NO_ISOLATION: a route's own commands are refused where nothing isolates", async () => {
    const result = await run(['true'], { isTrusted: false });
    expect(result).toMatchObject({ kind: 'failed', reasonCode: 'NO_ISOLATION' });
  });
});
