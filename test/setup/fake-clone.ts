import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const SCRIPTS = fileURLToPath(new URL('../../scripts', import.meta.url));

/** How a script ended and what it printed. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningScript {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** What it has printed there so far. */
  stderr(): string;
  signal(signal: NodeJS.Signals): void;
}

/**
 * A clone with our real scripts and stand-ins for npx, pnpm, turbo and vitest, which append to `calls` what they
 * were asked and do what the real ones leave behind. In a folder only we may enter.
 */
export class FakeClone {
  readonly root = mkdtempSync(join(tmpdir(), 'clone-'));

  constructor() {
    onTestFinished(() => rmSync(this.root, { recursive: true, force: true }));
    cpSync(SCRIPTS, join(this.root, 'scripts'), { recursive: true });
    this.write('package.json', '{"name":"clone","type":"module","packageManager":"pnpm@1.2.3"}');
    this.write('pnpm-lock.yaml', 'lockfileVersion: 9');
    this.write('packages/cli/package.json', '{"name":"cli","type":"module"}');
    this.write('packages/cli/src/index.ts', 'export {};');
    this.write(
      'tools/npx-cli.js',
      `${log('npx')} console.log(${JSON.stringify(join(this.root, 'tools/pnpm'))});`,
    );
    this.tool(
      'pnpm',
      'mkdir -p node_modules/.bin && touch node_modules/.modules.yaml && cp tools/turbo node_modules/.bin/',
    );
    this.tool('turbo', 'mkdir -p packages/cli/dist && touch packages/cli/dist/index.js');
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }
  /** A stand-in in sh, run in the clone's root. */
  tool(name: string, body: string): void {
    this.write(`tools/${name}`, `#!/bin/sh\necho "${name} $*" >> calls\n${body}\n`);
    chmodSync(join(this.root, 'tools', name), 0o755);
  }
  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }
  read(path: string): string {
    return this.has(path) ? readFileSync(join(this.root, path), 'utf8') : '';
  }
  append(path: string, content: string): void {
    appendFileSync(join(this.root, path), content);
  }
  /** Which tools were called, in order, since the last time this was asked. */
  calls(): readonly string[] {
    const names = this.read('calls')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' ')[0] ?? '');
    rmSync(join(this.root, 'calls'), { force: true });
    return names;
  }

  start(script: string, args: readonly string[] = [], nodeArgs: readonly string[] = []): RunningScript {
    const { HEADGATE_FAILED_BEFORE: _failed, HEADGATE_INSTALL: _install, ...inherited } = process.env;
    const child = spawn(process.execPath, [...nodeArgs, join(this.root, 'scripts', script), ...args], {
      cwd: '/',
      env: { ...inherited, npm_execpath: join(this.root, 'tools/npm-cli.js') },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (said: string) => {
      stderr += said;
    });
    const ended = Promise.all([text(child.stdout), once(child, 'close')]).then(
      ([stdout]): Ended => ({ code: child.exitCode, stdout, stderr }),
    );
    return {
      pid: child.pid ?? 0,
      ended,
      stderr: () => stderr,
      signal: (signal) => void child.kill(signal),
    };
  }
  run(script: string, args: readonly string[] = []): Promise<Ended> {
    return this.start(script, args).ended;
  }
}

function log(name: string): string {
  return `import { appendFileSync } from 'node:fs'; appendFileSync('calls', '${name} ' + process.argv.slice(2).join(' ') + '\\n');`;
}
