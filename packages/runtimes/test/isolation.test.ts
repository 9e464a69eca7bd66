/** What an isolating sandbox keeps from a command, tried by a command that tries all of it. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  type AttemptFolders,
  Bubblewrap,
  CommandRuntime,
  runVerify,
  type SandboxProvider,
  SandboxRuntime,
  type SandboxSpec,
} from '@headgate/runtimes';
import { registerSecret } from '@headgate/telemetry';
import { describeWithTool } from '@headgate/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { attemptIn, type Ended, endOf, otherWorker, specOf } from './attempts.js';
import { build, type Place, place } from './places.js';

const CANARY = 'canary-7c1d90';
const isRoot = process.getuid?.() === 0;
/** Nobody's, for a worker that is not root. */
const ORDINARY_UID = 65_534;

interface Loot {
  readonly read: readonly string[];
  readonly listed: readonly string[];
  readonly written: readonly string[];
  readonly environments: string;
  readonly commandLines: readonly string[];
  readonly processCount: number;
  readonly [name: string]: unknown;
}

const NO_CAPABILITIES = '0000000000000000';

interface Expected {
  readonly provider: SandboxProvider;
  /** Memory of its own, gone at the end, in which it may write. */
  readonly memoryFolders: readonly string[];
  /** Without one of these there is no gaining the others: nothing can be set-user-id inside. */
  readonly bounding: unknown;
  /** In their order: /tmp, home, the temporary folder. */
  readonly scratchBytes: unknown;
  /** Programs that start inside, the command the last of them. */
  readonly programsInside: number;
}

const SCRATCH_BYTES = 128 * 1024 * 1024;
const EXPECTED: readonly Expected[] = [
  {
    provider: new Bubblewrap(),
    memoryFolders: ['/tmp', '/dev/shm'],
    bounding: NO_CAPABILITIES,
    scratchBytes: Array(4).fill(SCRATCH_BYTES),
    // Init, the limits, the command.
    programsInside: 3,
  },
  {
    provider: new SandboxRuntime(),
    // /dev is the library's: memory that counts as the command's.
    memoryFolders: ['/tmp', '/dev/shm', '/dev'],
    bounding: expect.any(String),
    scratchBytes: [...Array(3).fill(SCRATCH_BYTES), expect.any(Number)],
    // And between init and the limits the library's.
    programsInside: 9,
  },
];

describeWithTool('bwrap', 'a sandbox isolates:', () => {
  describe.each(EXPECTED.map((expected) => [expected.provider.name, expected] as const))('%s', isolates);
});

function isolates(name: string, expected: Expected): void {
  const { provider, memoryFolders, bounding, scratchBytes, programsInside } = expected;
  let here: Place;
  let folders: AttemptFolders;
  let server: Server;
  let secrets: readonly string[];
  beforeAll(async () => {
    await build();
    const probe = await provider.probe();
    expect(probe).toMatchObject({ kind: 'available' });
    server = createServer((socket) => socket.end('host'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  beforeEach(async () => {
    here = await place();
    folders = await attemptIn(here.path);
    secrets = [
      join(here.path, 'data', 'admin-token'),
      join(folders.worker, 'owner.json'),
      join(here.path, 'home', '.netrc'),
    ];
    for (const path of secrets) {
      await mkdir(join(path, '..'), { recursive: true });
      // Open to all, so that it is the sandbox that keeps them.
      await writeFile(path, CANARY, { mode: 0o644 });
    }
    await copyFile(
      fileURLToPath(new URL('./intruder.mjs', import.meta.url)),
      join(folders.workspace, 'intruder.mjs'),
    );
  });
  afterEach(() => here.remove());

  const intrusion = (): SandboxSpec => {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('it listens on a port');
    const places = ['/etc/shadow', '/root', '/home', '/var', '/srv', '/mnt', '/sys', homedir(), here.path];
    const wanted = {
      read: [...secrets, ...places, join(here.path, 'data'), folders.worker, `/proc/${process.pid}/environ`],
      write: [
        ...['/', '/usr/bin/', '/etc/', '/dev/', '/dev/shm/', '/tmp/', '/proc/sys/kernel/'].map(
          (path) => `${path}x`,
        ),
        '/proc/sys/kernel/core_pattern',
        '/etc/passwd',
        ...[
          here.path,
          folders.root,
          folders.input,
          folders.output,
          folders.home,
          folders.tmp,
          folders.workspace,
        ].map((path) => join(path, 'x')),
      ],
      port: address.port,
      hostPid: process.pid,
    };
    const spec = specOf(folders, '', { env: { GIVEN: 'given' }, limits: { memoryBytes: 256 * 1024 * 1024 } });
    return { ...spec, argv: [process.execPath, 'intruder.mjs', JSON.stringify(wanted)] };
  };

  const expectNothingGained = async ({ code, output }: Ended): Promise<void> => {
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringMatching(/^\{.*\}\n$/) });
    const loot = JSON.parse(output) as Loot;
    expect(output).not.toContain(CANARY);
    expect(loot.read).toEqual([]);
    // Ways to its own folders, in which there is nothing else; the host's own are not there.
    for (const path of loot.listed) expect(folders.workspace.startsWith(`${path}/`)).toBe(true);
    expect(loot.environments).toContain('GIVEN=given');
    expect(loot.environments).not.toMatch(/VITEST|HEADGATE_TEST_CANARY/);
    // Init and the command itself.
    expect(loot.processCount).toBe(2);
    expect(loot).toMatchObject({
      signalsHost: false,
      users: ['agent', 'nobody'],
      uid: 1000,
      // Effective, permitted, bounding, inheritable, ambient.
      capabilities: [NO_CAPABILITIES, NO_CAPABILITIES, bounding, NO_CAPABILITIES, NO_CAPABILITIES],
      noNewPrivileges: '1',
      makesUserNamespace: false,
      mounts: false,
      reachesTheHost: false,
      reachesTheInternet: false,
      resolves: false,
      reachesItself: true,
      interfaces: ['lo'],
      scratchBytes,
    });
    // The test's place lies in /tmp, which inside is memory of the command's own: what it writes there is not here.
    const own = [folders.output, folders.workspace].map((path) => join(path, 'x'));
    const places = loot.written.filter(
      (path) => !path.startsWith('/tmp/') && !memoryFolders.includes(dirname(path)),
    );
    expect(places).toEqual([]);
    expect(loot.written).toEqual(
      expect.arrayContaining([...own, join(folders.home, 'x'), join(folders.tmp, 'x')]),
    );
    expect(loot.written).not.toContain(join(folders.input, 'x'));
    const { stdout } = await promisify(execFile)('find', [here.path, '-name', 'x']);
    expect(stdout.trim().split('\n').sort()).toEqual(own.sort());
    expect(await readFile(join(folders.workspace, 'x'), 'utf8')).toBe('x');
    expect(await readFile(join(folders.output, 'x'), 'utf8')).toBe('x');
    expect(await readdir(folders.home)).toEqual([]);
    expect(await readdir(folders.tmp)).toEqual([]);
  };

  it('INV-TE2: an agent that goes for files, environment, network, processes and privileges gets nothing', async () => {
    process.env['HEADGATE_TEST_CANARY'] = CANARY;
    try {
      await expectNothingGained(await endOf(provider, intrusion()));
    } finally {
      delete process.env['HEADGATE_TEST_CANARY'];
    }
  });

  it.skipIf(!isRoot)('INV-TE2: nor from a worker that is an ordinary user', async () => {
    await promisify(execFile)('chown', ['-R', `${ORDINARY_UID}:${ORDINARY_UID}`, here.path]);
    const worker = otherWorker({ provider: name, spec: intrusion() }, ORDINARY_UID);
    expect(await worker.started).toMatchObject({ kind: 'started' });
    await expectNothingGained(await worker.ended);
  });

  it.skipIf(!isRoot)('a worker that is root gives each attempt a user that owns nothing else', async () => {
    expect(await endOf(provider, specOf(folders, 'umask 077; echo mine > mine'))).toMatchObject({ code: 0 });
    const { uid } = await stat(join(folders.workspace, 'mine'));
    expect(uid).toBeGreaterThan(65_535);
    await endOf(provider, specOf(folders, 'cat mine > copy'));
    expect((await stat(join(folders.workspace, 'copy'))).uid).not.toBe(uid);
    expect(await readFile(join(folders.workspace, 'copy'), 'utf8')).toBe('mine\n');
  });

  it('no variable of the command counts before it is shut in', async () => {
    await writeFile(join(folders.workspace, 'preload.so'), 'not a library');
    const env = { LD_PRELOAD: join(folders.workspace, 'preload.so'), LD_LIBRARY_PATH: folders.workspace };
    const spec = specOf(folders, 'echo ran', { env });
    const { code, output } = await endOf(provider, { ...spec, env: { ...spec.env, PATH: '/nowhere' } });
    expect(code).toBe(0);
    // Shells of the launch outside would complain of it too.
    expect(output.match(/preload\.so/g)?.length ?? 0).toBeLessThanOrEqual(programsInside);
    expect(output).toMatch(/ran\n$/);
  });

  it('refuses to hand over what is shared with others, or what every sandbox can read', () => {
    for (const path of ['/', '/tmp', '/home', '/usr/local/headgate/workspace', homedir()]) {
      const spec = { ...specOf(folders, 'true'), files: { writable: [path], readOnly: [], scratch: [] } };
      expect(() => provider.start(spec), path).toThrow(/shared|every sandbox can read/);
    }
  });

  it('shows a program that lies elsewhere, and nothing beside it', async () => {
    const tools = join(here.path, 'tools');
    await mkdir(tools);
    await writeFile(join(tools, 'agent'), '#!/bin/sh\nls "$(dirname "$0")"\n', { mode: 0o755 });
    await writeFile(join(tools, 'key'), CANARY);
    await chmod(tools, 0o755);
    const { code, output } = await endOf(provider, { ...specOf(folders, ''), argv: [join(tools, 'agent')] });
    expect({ code, output }).toEqual({ code: 0, output: 'agent\n' });
  });

  const runtimeInput = (script: string) => ({
    ...specOf(folders, script),
    limits: { wallClockMs: 20_000, silenceMs: 20_000, sandboxStartMs: 20_000, outputBytes: 10_000 },
    logPath: join(here.path, 'agent.log'),
    isTrusted: false,
    signal: new AbortController().signal,
    graceMs: 200,
  });

  it("runs users' commands, knows an attempt's folders by its workspace, and caps their output", async () => {
    const { files: _, ...input } = runtimeInput('cat "$HEADGATE_INPUT" && echo {} > "$HEADGATE_RESULT"');
    expect(await new CommandRuntime(provider).run(input)).toMatchObject({
      kind: 'exited',
      code: 0,
      tail: '{"asked":"this"}\n',
    });
    expect(await readdir(folders.output)).toEqual(['result.json']);
    expect(await new CommandRuntime(provider).run(runtimeInput('yes noise'))).toMatchObject({
      kind: 'output-limit',
    });
    const quiet = runtimeInput('sleep 600');
    const limits = { ...quiet.limits, silenceMs: 300 };
    expect(await new CommandRuntime(provider).run({ ...quiet, limits })).toMatchObject({
      kind: 'timeout',
      which: 'silence',
    });
  });

  it('INV-TE2: what a verification prints of a secret is redacted by value in its log and its evidence', async () => {
    const secret = 's3cret-of-a-tenant';
    const forget = registerSecret(secret);
    const { argv: _, logPath: log, ...rest } = runtimeInput('');
    const encoded = Buffer.from(secret).toString('base64');
    const result = await runVerify({
      ...rest,
      runtime: new CommandRuntime(provider),
      commands: [`echo ${secret}; echo ${encoded}`],
      logPath: () => log,
    });
    forget();
    expect(result).toMatchObject({ kind: 'passed', evidence: [{ tail: '[redacted]\n[redacted]\n' }] });
    expect(await readFile(log, 'utf8')).not.toMatch(new RegExp(`${secret}|${encoded}`));
  });
}
