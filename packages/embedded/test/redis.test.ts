import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  fetchedRedis,
  fetchRedisByApt,
  identify,
  type RedisServer,
  redisOnPath,
  startRedis,
} from '../src/index.js';
import { askRedis } from '../src/redis/wire.js';
import { closedFolder, dataFolder, stoppedAtEnd } from './folders.js';

const onPath = redisOnPath();

async function start(dataDir: string, comesBack = false): Promise<RedisServer> {
  const server = await startRedis({ dataDir, url: null, mayFetch: false, comesBack });
  if (server.unavailable !== undefined) throw new Error(server.unavailable);
  return stoppedAtEnd(server);
}
const ask = (server: RedisServer, command: string) =>
  askRedis({ port: server.port, password: new URL(server.url).password }, command);

describe.runIf(onPath !== null)('the private Redis', () => {
  test('evicts nothing, saves nothing, listens on loopback only and demands its password', async () => {
    const dataDir = dataFolder();
    const server = await start(dataDir);
    expect(await ask(server, 'PING')).toBe('PONG');
    await expect(askRedis({ port: server.port, password: 'wrong' }, 'PING')).rejects.toThrow(/WRONGPASS/);
    const commandLine = identify(server.pid ?? 0)?.commandLine ?? '';
    expect(commandLine).toContain('127.0.0.1');
    expect(commandLine).not.toContain(new URL(server.url).password);
    expect(statSync(join(dataDir, 'logs/redis.log')).mode & 0o077).toBe(0);
    await server.flushAll();
  });

  test('comes back on its port, and on another one if somebody took it', async () => {
    const dataDir = dataFolder();
    const first = await start(dataDir);
    await first.stop();
    const second = await start(dataDir);
    expect(second.port).toBe(first.port);
    await second.stop();
    const thief = createServer().listen(first.port, '127.0.0.1');
    onTestFinished(() => void thief.close());
    await once(thief, 'listening');
    expect((await start(dataDir)).port).not.toBe(first.port);
  });

  test('Q34: is killed and restarted on the same port and password', async () => {
    const server = await start(dataFolder());
    const before = { url: server.url, pid: server.pid };
    await server.kill9();
    expect(server.pid).toBeNull();
    await expect(ask(server, 'PING')).rejects.toThrow(/ECONNREFUSED/);
    await server.restart();
    expect(server.url).toBe(before.url);
    expect(server.pid).not.toBe(before.pid);
    expect(await ask(server, 'PING')).toBe('PONG');
  });

  test('Q34: where it is to come back, one that ended by itself is there again on the same port and password', async () => {
    const server = await start(dataFolder(), true);
    const { pid: first, url } = server;
    process.kill(first ?? 0, 'SIGKILL');
    await vi.waitFor(() => expect([null, first]).not.toContain(server.pid), {
      timeout: 20_000,
      interval: 20,
    });
    expect(server.url).toBe(url);
    expect(await ask(server, 'PING')).toBe('PONG');
  });

  test('does not come back behind the back of who stops it', async () => {
    const dataDir = dataFolder();
    const server = await start(dataDir, true);
    process.kill(server.pid ?? 0, 'SIGKILL');
    await vi.waitFor(() => expect(server.pid).toBeNull(), { timeout: 20_000, interval: 5 });
    await server.stop();
    expect(server.pid).toBeNull();
    // The folder is free again: nothing of the first one is left on it.
    expect((await start(dataDir)).port).toBe(server.port);
  });

  test('stops even while it is frozen', async () => {
    const server = await start(dataFolder());
    const pid = server.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    await server.stop();
    expect(identify(pid)).toBeNull();
  });

  test('runs from what was fetched earlier where the PATH has none', async () => {
    const dataDir = dataFolder();
    const folder = join(dataDir, 'redis/fetched/root/usr/bin');
    mkdirSync(folder, { recursive: true });
    symlinkSync(onPath?.program ?? '', join(folder, 'redis-server'));
    const server = await startRedis({ dataDir, url: null, path: '/nowhere', mayFetch: false });
    if (server.unavailable !== undefined) throw new Error(server.unavailable);
    stoppedAtEnd(server);
    expect(await ask(server, 'PING')).toBe('PONG');
  });

  test('says why it did not start, with the end of its log', async () => {
    const folder = closedFolder();
    const broken = join(folder, 'redis-server');
    writeFileSync(broken, '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho out of order >&2\nexit 1\n');
    chmodSync(broken, 0o755);
    const starting = startRedis({ dataDir: dataFolder(), url: null, path: folder });
    await expect(starting).rejects.toThrow(/Redis did not start[\s\S]*out of order/);
  });
});

describe('without Redis', () => {
  test('a start says what it costs and how to add one, and claims nothing', async () => {
    const dataDir = dataFolder();
    const none = await startRedis({ dataDir, url: null, path: '/nowhere', mayFetch: false });
    expect(none).toMatchObject({
      unavailable: expect.stringContaining('no redis-server or valkey-server'),
      advice: expect.stringMatching(/works without Redis.*poll interval.*REDIS_URL/),
    });
    expect(await startRedis({ dataDir, url: null, path: '/nowhere', mayFetch: false })).toEqual(none);
  });

  test('HEADGATE_NO_REDIS forces it, even where one is given', async () => {
    vi.stubEnv('HEADGATE_NO_REDIS', '1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const none = await startRedis({ dataDir: '/nowhere', url: 'redis://cache.example' });
    expect(none.unavailable).toContain('HEADGATE_NO_REDIS');
  });

  test('the given one is used where REDIS_URL says so, and is never emptied or killed', async () => {
    const server = await startRedis({ dataDir: '/nowhere', url: 'rediss://cache.example:7000' });
    if (server.unavailable !== undefined) throw new Error(server.unavailable);
    expect(server).toMatchObject({ port: 7000, pid: null, isPrivate: false });
    await server.stop();
    await expect(server.flushAll()).rejects.toMatchObject({ code: 'NOT_OURS' });
    await expect(server.kill9()).rejects.toMatchObject({ code: 'NOT_OURS' });
  });
});

describe('fetching Redis from the distribution', () => {
  /** Stand-ins for apt and dpkg: the real ones are on another machine, or ask a network. */
  function distribution(tools: Readonly<Record<string, string>>): string {
    const folder = closedFolder();
    for (const [name, body] of Object.entries(tools)) {
      writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    }
    return `${folder}:/usr/bin:/bin`;
  }
  const config = 'echo \'Acquire::http::Proxy "http://proxy:1";\'; echo \'DPkg::Post-Invoke:: "rm -rf /";\'';
  const plan = 'Inst libx (1.0 stable)\nInst redis-server (7.0 stable)\nConf redis-server (7.0 stable)';
  const aptGet = `
    case "$*" in
      *simulate*) printf '${plan}\\n' ;;
      *download*) cp "$APT_CONFIG" ../../seen.conf; for name in libx redis-server; do
        case "$*" in *"$name"*) touch "$name.deb" ;; esac; done ;;
      *update*) echo 'E: one archive of several is down' >&2; exit 100 ;;
    esac`;
  const unpack = (server: string) => `
    mkdir -p "$3/usr/bin" "$3/usr/lib/arch"
    case "$2" in *redis-server.deb) printf '${server}' > "$3/usr/bin/redis-server"; chmod +x "$3/usr/bin/redis-server" ;;
      *) touch "$3/usr/lib/arch/libx.so" ;; esac`;

  test('unpacks the server and what it lacks, with the proxies of the system and none of its hooks', async () => {
    const folder = closedFolder();
    const works = '#!/bin/sh\\necho "$LD_LIBRARY_PATH"\\n';
    const path = distribution({ 'apt-config': config, 'apt-get': aptGet, dpkg: unpack(works) });
    const outcome = await fetchRedisByApt({ folder, path });
    const libraries = join(folder, 'root/usr/lib');
    expect(outcome).toEqual({
      kind: 'fetched',
      binary: {
        program: join(folder, 'root/usr/bin/redis-server'),
        env: { LD_LIBRARY_PATH: `${libraries}:${join(libraries, 'arch')}` },
        from: 'apt',
      },
    });
    expect(fetchedRedis(folder)).toEqual(outcome.kind === 'fetched' && outcome.binary);
    const seen = readFileSync(join(folder, 'seen.conf'), 'utf8');
    expect(seen).toContain('http://proxy:1');
    expect(seen).not.toContain('rm -rf');
    expect(seen).toContain(`Dir::State::lists "${folder}`);
  });

  test('keeps nothing of a server that does not run here, and says why', async () => {
    const folder = closedFolder();
    const broken = '#!/bin/sh\\necho "redis-server: error while loading shared libraries" >&2; exit 127\\n';
    const path = distribution({ 'apt-config': config, 'apt-get': aptGet, dpkg: unpack(broken) });
    expect(await fetchRedisByApt({ folder, path })).toEqual({
      kind: 'failed',
      why: 'redis-server: error while loading shared libraries',
    });
    expect(readdirSync(folder)).toEqual(['seen.conf']);
  });

  test('says so where apt knows no such package, and where there is no apt', async () => {
    const folder = closedFolder();
    const knowsNone = `case "$*" in *simulate*) echo "E: Unable to locate package" >&2; exit 100 ;; esac`;
    const path = distribution({ 'apt-config': config, 'apt-get': knowsNone, dpkg: 'exit 1' });
    expect(await fetchRedisByApt({ folder, path })).toMatchObject({
      kind: 'failed',
      why: expect.stringContaining('E: Unable to locate package'),
    });
    expect(await fetchRedisByApt({ folder, path: closedFolder() })).toEqual({
      kind: 'failed',
      why: 'apt-get is not here',
    });
  });
});
