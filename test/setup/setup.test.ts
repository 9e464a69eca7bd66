import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { identify } from '@headgate/embedded';
import { eventually } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { FakeClone } from './fake-clone.js';

/** Set-up and nothing else: pnpm.mjs then runs pnpm with no arguments of note. */
const setUp = (clone: FakeClone) => clone.run('pnpm.mjs', ['version']);

describe('the set-up of a clone', { timeout: 120_000 }, () => {
  test('fetches pnpm, installs and builds the first time, and does none of it the second time', async () => {
    const clone = new FakeClone();
    const first = await setUp(clone);
    expect(first).toMatchObject({ code: 0, stdout: '' });
    expect(first.stderr.trim().split('\n')).toEqual([
      'Headgate: fetching pnpm@1.2.3 …',
      'Headgate: installing the dependencies …',
      'Headgate: building …',
    ]);
    expect(clone.read('calls')).toMatch(
      /^npx --yes --package=pnpm@1\.2\.3 .*\npnpm install --frozen-lockfile/,
    );
    expect(clone.calls()).toEqual(['npx', 'pnpm', 'turbo', 'pnpm']);
    expect(await setUp(clone)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(clone.calls()).toEqual(['pnpm']);
  });

  test('builds again when a source changed, installs again when the lockfile changed', async () => {
    const clone = new FakeClone();
    await setUp(clone);
    clone.calls();
    clone.append('packages/cli/src/index.ts', '\nexport const added = 1;\n');
    await setUp(clone);
    expect(clone.calls()).toEqual(['turbo', 'pnpm']);
    clone.append('pnpm-lock.yaml', '\n# changed\n');
    await setUp(clone);
    expect(clone.calls()).toEqual(['pnpm', 'turbo', 'pnpm']);
  });

  test('does again what somebody deleted', async () => {
    const clone = new FakeClone();
    await setUp(clone);
    clone.write('packages/cli/tsconfig.tsbuildinfo', '{}');
    clone.calls();
    rmSync(join(clone.root, 'packages/cli/dist'), { recursive: true });
    await setUp(clone);
    // tsc would believe its notes and write nothing.
    expect(clone.has('packages/cli/tsconfig.tsbuildinfo')).toBe(false);
    expect(clone.calls()).toEqual(['turbo', 'pnpm']);
  });

  test('is done once when two start at the same time', async () => {
    const clone = new FakeClone();
    // The first one's install lasts until the second has said that it waits.
    clone.tool(
      'pnpm',
      `[ "$1" = install ] || exit 0
       while [ ! -e go-on ]; do sleep 0.05; done
       mkdir -p node_modules/.bin && touch node_modules/.modules.yaml && cp tools/turbo node_modules/.bin/`,
    );
    const first = clone.start('pnpm.mjs', ['version']);
    await eventually(() => clone.read('calls').includes('pnpm install'), { what: 'the first installs' });
    const second = clone.start('pnpm.mjs', ['version']);
    const waiting = `waiting for the set-up that process ${first.pid} does`;
    await eventually(() => second.stderr().includes(waiting), { what: 'the second waits' });
    clone.write('go-on', '');
    const both = await Promise.all([first.ended, second.ended]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect([...clone.calls()].sort()).toEqual(['npx', 'pnpm', 'pnpm', 'pnpm', 'turbo']);
    expect(first.stderr()).not.toMatch(/waiting for the set-up/);
  });

  test('shows what a failed step printed, names the step, and tries again the next time', async () => {
    const clone = new FakeClone();
    clone.tool('turbo', 'echo "index.ts(1,1): error TS1: no"; exit 2');
    const failed = await setUp(clone);
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(/error TS1: no[\s\S]*the build failed \(exit code 2\)/);
    clone.tool('turbo', 'mkdir -p packages/cli/dist && touch packages/cli/dist/index.js');
    clone.write('node_modules/.bin/turbo', clone.read('tools/turbo'));
    clone.calls();
    expect((await setUp(clone)).code).toBe(0);
    expect(clone.calls()).toEqual(['turbo', 'pnpm']);
  });

  test('Ctrl-C in the middle ends everything it started and exits with 130', async () => {
    const clone = new FakeClone();
    // A package manager has children of its own, and one that ignores the request.
    clone.tool('pnpm', '(trap "" TERM INT; while :; do sleep 1; done) & echo $! > grandchild; wait');
    const script = clone.start('start.mjs');
    const grandchild = await eventually(() => Number(clone.read('grandchild')) || null, {
      what: 'the install runs',
    });
    script.signal('SIGINT');
    expect(await script.ended).toMatchObject({ code: 130, stdout: '' });
    expect(identify(grandchild)).toBeNull();
    expect(clone.has('.turbo/setup.lock')).toBe(false);
  });

  test('goes on after a set-up that was killed, and after one that died before it said who it was', async () => {
    const clone = new FakeClone();
    clone.tool('pnpm', 'touch begun; exec sleep 600');
    const script = clone.start('start.mjs');
    await eventually(() => clone.has('begun'), { what: 'the install runs' });
    script.signal('SIGKILL');
    await script.ended;
    expect(clone.has('.turbo/setup.lock/owner.json')).toBe(true);
    clone.tool(
      'pnpm',
      'mkdir -p node_modules/.bin && touch node_modules/.modules.yaml && cp tools/turbo node_modules/.bin/',
    );
    expect((await setUp(clone)).code).toBe(0);
    expect(clone.has('.turbo/setup.lock')).toBe(false);

    clone.append('pnpm-lock.yaml', '\n# changed\n');
    mkdirSync(join(clone.root, '.turbo/setup.lock'));
    expect((await setUp(clone)).code).toBe(0);
  });

  test.each(['start.mjs', 'test.mjs', 'headgate.mjs'])(
    '%s says which Node it needs when it is too old',
    async (name) => {
      const clone = new FakeClone();
      const old =
        "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.18.3' } });";
      const url = `data:text/javascript,${encodeURIComponent(old)}`;
      const ended = await clone.start(name, [], ['--import', url]).ended;
      expect(ended.code).toBe(1);
      expect(ended.stderr).toMatch(/^Headgate needs Node 20\.19 or later; this is /);
      expect(clone.calls()).toEqual([]);
    },
  );
});

describe('npm start', () => {
  const startedWith = (clone: FakeClone, main: string) => {
    clone.write('packages/cli/dist/main.js', main);
    return clone.start('start.mjs', ['--some', 'flag']);
  };

  test('runs "up" with its arguments in the clone and ends as it ends', async () => {
    const clone = new FakeClone();
    const main = 'console.log(JSON.stringify([process.argv.slice(2), process.cwd()])); process.exitCode = 5;';
    const ended = await startedWith(clone, main).ended;
    expect(ended.code).toBe(5);
    expect(JSON.parse(ended.stdout)).toEqual([['up', '--some', 'flag'], clone.root]);
  });

  test('passes on a Ctrl-C once, waits for the drain, and exits with 130', async () => {
    const clone = new FakeClone();
    const main = `let got = 0;
      process.on('SIGINT', () => { got += 1; setTimeout(() => { console.log('drained after', got); process.exit(0); }, 300); });
      console.log('ready'); console.error(process.pid); setInterval(() => {}, 1000);`;
    const script = startedWith(
      clone,
      `import { writeFileSync } from 'node:fs'; ${main} writeFileSync('up.pid', String(process.pid));`,
    );
    const pid = await eventually(() => Number(clone.read('up.pid')) || null, { what: '"up" runs' });
    script.signal('SIGINT');
    expect(await script.ended).toMatchObject({ code: 130, stdout: 'ready\ndrained after 1\n' });
    expect(identify(pid)).toBeNull();
  });

  test('loads what must see every other module first', async () => {
    const clone = new FakeClone();
    clone.write('packages/telemetry/dist/register.js', "console.log('registered');");
    const ended = await startedWith(clone, "console.log('up');").ended;
    expect(ended.stdout).toBe('registered\nup\n');
  });
});

describe('npx headgate in a clone', () => {
  test('says what to do before the first build', async () => {
    expect(await new FakeClone().run('headgate.mjs', ['why', 'x'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'Headgate has not been built yet: run npm start first.\n',
    });
  });

  test('runs the command with its arguments and ends as it ends', async () => {
    const clone = new FakeClone();
    clone.write(
      'packages/cli/dist/main.js',
      'console.log(process.argv.slice(2).join()); process.exitCode = 3;',
    );
    expect(await clone.run('headgate.mjs', ['why', 'x'])).toEqual({ code: 3, stdout: 'why,x\n', stderr: '' });
  });
});
