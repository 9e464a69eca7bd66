/**
 * What only shows between real processes: kills, stops, files that several write, the loader hook. They run the
 * built package, as a deployed service does.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

const packageFolder = join(import.meta.dirname, '..');
const actor = join(import.meta.dirname, 'processes', 'actor.mjs');
const register = join(packageFolder, 'dist', 'register.js');
const run = promisify(execFile);

let folder = '';
const children: ChildProcess[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-telemetry-'));
  // Not by npx, which takes a second to find it.
  await run(process.execPath, [
    join(packageFolder, '../../node_modules/typescript/bin/tsc'),
    '-b',
    packageFolder,
  ]);
}, 120_000);
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function act(what: string, env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, [actor, what], { env: { ...process.env, ...env }, stdio: 'ignore' });
  children.push(child);
  return child;
}
const ended = async (child: ChildProcess): Promise<string> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.signalCode ?? String(child.exitCode);
};
const readLines = (file: string): Record<string, unknown>[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** Polls until `look` finds something; the deadline is the test's own. */
async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
const names = (file: string): string[] => {
  try {
    return readLines(file).map((line) => {
      const detail = line['detail'];
      return `${String(line['name'])} ${JSON.stringify(detail)}`;
    });
  } catch {
    return [];
  }
};

describe('fail-points across processes', () => {
  it('kill ends the process exactly there, on the pass that was named', async () => {
    const signals = join(folder, 'kill.jsonl');
    const child = act('passes', {
      HEADGATE_FAILPOINTS: 'worker.claim.committed=kill@2',
      HEADGATE_SIGNALS_FILE: signals,
    });
    expect(await ended(child)).toBe('SIGKILL');
    expect(names(signals)).toEqual([
      'before {"pass":1}',
      'after {"pass":1}',
      'before {"pass":2}',
      'failpoint.reached {"failPoint":"worker.claim.committed","action":"kill","pass":2}',
    ]);
  });

  it('stop freezes the process there until it is continued', async () => {
    const signals = join(folder, 'stop.jsonl');
    const child = act('passes', {
      HEADGATE_FAILPOINTS: 'worker.claim.committed=stop@1',
      HEADGATE_SIGNALS_FILE: signals,
    });
    await until(() => {
      const { pid } = child;
      const stat = pid === undefined ? '' : readFileSync(`/proc/${pid}/stat`, 'utf8');
      return / T /.test(stat) ? stat : undefined;
    });
    expect(names(signals)).not.toContain('after {"pass":1}');
    child.kill('SIGCONT');
    expect(await ended(child)).toBe('0');
    expect(names(signals)).toContain('after {"pass":3}');
  });

  it('hold:<file> keeps the process until the file appears', async () => {
    const signals = join(folder, 'hold.jsonl');
    const go = join(folder, 'go');
    const child = act('passes', {
      HEADGATE_FAILPOINTS: `worker.claim.committed=hold:${go}@1`,
      HEADGATE_SIGNALS_FILE: signals,
    });
    await until(() => names(signals).find((line) => line.startsWith('failpoint.reached')));
    expect(names(signals)).not.toContain('after {"pass":1}');
    writeFileSync(go, '');
    expect(await ended(child)).toBe('0');
  });

  it('an unknown name stops the process before it does anything, naming the known ones', async () => {
    const env = { ...process.env, HEADGATE_FAILPOINTS: 'worker.claim.comitted=kill' };
    const failure = await run(process.execPath, [actor, 'passes'], { env }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 1 });
    expect(failure).toHaveProperty(
      'stderr',
      expect.stringMatching(/"worker.claim.comitted" is no fail-point/),
    );
  });

  it('what is not set costs less than 20 ns: fail-points, signals and history alike', async () => {
    const { stdout } = await run(process.execPath, [actor, 'measures']);
    const costNs = JSON.parse(stdout);
    expect(costNs.failPoint).toBeLessThan(20);
    expect(costNs.testSignal).toBeLessThan(20);
    expect(costNs.record).toBeLessThan(20);
  });
});

describe('files that tests read', () => {
  it('signals of several processes never tear each other', async () => {
    const signals = join(folder, 'flood.jsonl');
    const env = { HEADGATE_SIGNALS_FILE: signals };
    const floods = [act('floods', env), act('floods', env), act('floods', env)];
    await Promise.all(floods.map(ended));
    const lines = readLines(signals);
    expect(lines).toHaveLength(1_500);
    expect(new Set(lines.map((line) => line['pid'])).size).toBe(3);
  });

  it('a SIGKILL loses nothing that was recorded: numbers have no gap, only the last line may be torn', async () => {
    const history = join(folder, 'history');
    const signals = join(folder, 'recorded.jsonl');
    const child = act('records', { HEADGATE_HISTORY_DIR: history, HEADGATE_SIGNALS_FILE: signals });
    await until(() => names(signals).find((line) => line.startsWith('recorded')));
    child.kill('SIGKILL');
    await ended(child);
    const [file = ''] = readdirSync(history);
    expect(file).toBe(`work_er-${child.pid}.jsonl`);
    const lines = readLines(join(history, file));
    expect(lines.length).toBeGreaterThanOrEqual(1_000);
    for (const [index, line] of lines.entries()) {
      expect(line).toMatchObject({ seq: index + 1, proc: `work_er-${child.pid}`, run: `run ${index + 1}` });
    }
    expect(lines[0]?.['fencingToken']).toBe((12n ** 20n).toString());
    const times = lines.map((line) => BigInt(String(line['monoNs'])));
    expect(times.every((time, index) => index === 0 || time >= (times[index - 1] ?? 0n))).toBe(true);
  });
});

/** A collector that keeps what it is sent, or never answers. */
async function collector(answers: boolean) {
  const bodies: string[] = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      bodies.push(body);
      if (answers) response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, bodies, close };
}

async function traced(script: string, env: Record<string, string> = {}) {
  const file = join(import.meta.dirname, 'processes', script);
  const imports = script === 'without-hook.mjs' ? [] : ['--import', register];
  const { stdout } = await run(process.execPath, [...imports, file], {
    env: { ...process.env, ...env },
    timeout: 25_000,
  });
  return JSON.parse(stdout);
}

describe('OpenTelemetry by --import', () => {
  it('sees express: the self-test finds the route, and context travels without an exporter', async () => {
    const { state, seen } = await traced('service.mjs');
    expect(state).toMatchObject({ state: 'working', exporting: false });
    expect(seen.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    expect(seen.traceparent).not.toContain('b7ad6b7169203331');
  });

  it('exports to OTEL_EXPORTER_OTLP_ENDPOINT, with http.route and without its own self-test', async () => {
    const there = await collector(true);
    try {
      const { state } = await traced('service.mjs', { OTEL_EXPORTER_OTLP_ENDPOINT: there.url });
      expect(state).toMatchObject({ state: 'working', exporting: true });
      const sent = there.bodies.join('\n');
      expect(sent).toContain('"/runs/:id"');
      expect(sent).toContain('0af7651916cd43dd8448eb211c80319c');
      expect(sent).not.toContain('self-test');
    } finally {
      there.close();
    }
  });

  it('a collector that never answers holds the end of a process no longer than told', async () => {
    const there = await collector(false);
    try {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: there.url, SHUTDOWN_MS: '300' };
      const { shutdownMs } = await traced('service.mjs', env);
      expect(shutdownMs).toBeGreaterThanOrEqual(290);
      expect(shutdownMs).toBeLessThan(3_000);
    } finally {
      there.close();
    }
  });

  it('OTEL_SDK_DISABLED and a start without register are reported as off', async () => {
    const { state } = await traced('service.mjs', { OTEL_SDK_DISABLED: 'true' });
    expect(state).toMatchObject({ state: 'off', exporting: false });
  });

  it('the self-test calls an SDK without the loader hook broken', async () => {
    const { state } = await traced('without-hook.mjs');
    expect(state.state).toBe('broken');
    expect(state.detail).toMatch(/--import|not instrumented/);
  });
});
