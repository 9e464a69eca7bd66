// Everything a fresh clone needs before it can run: the pinned pnpm, the dependencies, the build. Nothing is
// installed outside of the clone and npm's cache. Done again only where an input has changed; says nothing more
// than what it is doing, unless it fails.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './children.mjs';
import { buildInputs, installInputs, isBuilt, isInstalled, workspacePackages } from './inputs.mjs';
import { withLock } from './lock.mjs';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STAMP = join(ROOT, 'node_modules/.headgate-setup.json');
const LOCK = join(ROOT, '.turbo/setup.lock');

/** A step of the set-up did not work. */
class SetupError extends Error {}

/**
 * Makes the clone ready. Ends the process with a message if that cannot be done.
 *
 * @returns {Promise<{ env: NodeJS.ProcessEnv }>} the environment for tools that need pnpm on their PATH
 */
export async function setUp() {
  const stamp = readStamp();
  if (isUpToDate(stamp)) return { env: toolEnv(stamp.pnpmFolder) };
  try {
    return await withLock(LOCK, (pid) => say(`waiting for the set-up that process ${pid} does …`), doSetUp);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(`\n${error.message}`);
    process.exit(1);
  }
}

async function doSetUp() {
  // Whoever held the lock may have done it all.
  let stamp = readStamp();
  if (stamp.pnpmFolder === null || !existsSync(join(stamp.pnpmFolder, 'pnpm'))) {
    stamp = { ...stamp, pnpmFolder: await fetchPnpm() };
  }
  const env = toolEnv(stamp.pnpmFolder);
  const install = installInputs(ROOT);
  if (stamp.install !== install || !isInstalled(ROOT)) {
    await installDependencies(env, stamp.pnpmFolder);
    stamp = { ...stamp, install, build: null };
    writeStamp(stamp);
  }
  const build = buildInputs(ROOT);
  if (stamp.build !== build || !isBuilt(ROOT)) {
    await compile(env);
    writeStamp({ ...stamp, build });
  }
  return { env };
}

async function fetchPnpm() {
  const { packageManager } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  say(`fetching ${packageManager} …`);
  const [program, ...args] = npx();
  const found = await step(
    `fetching ${packageManager} with npx`,
    run(program, [...args, '--yes', `--package=${packageManager}`, '-c', 'command -v pnpm'], {
      cwd: ROOT,
      env: toolEnv(null),
    }),
  );
  const path = found.output.trim().split('\n').at(-1) ?? '';
  if (!path.endsWith('/pnpm') || !existsSync(path))
    throw new SetupError(`npx did not bring pnpm:\n${found.output}`);
  return dirname(path);
}

async function installDependencies(env, pnpmFolder) {
  say('installing the dependencies …');
  const flags = [
    '--frozen-lockfile',
    '--prefer-offline',
    '--reporter=append-only',
    '--config.confirmModulesPurge=false',
  ];
  await step(
    'installing the dependencies',
    run(join(pnpmFolder, 'pnpm'), ['install', ...flags], { cwd: ROOT, env }),
  );
}

async function compile(env) {
  say('building …');
  for (const folder of workspacePackages(ROOT)) {
    // tsc believes its notes and would not write again what somebody deleted.
    if (!existsSync(join(folder, 'dist/index.js')))
      rmSync(join(folder, 'tsconfig.tsbuildinfo'), { force: true });
  }
  const turbo = join(ROOT, 'node_modules/.bin/turbo');
  await step('the build', run(turbo, ['run', 'compile', '--output-logs=errors-only'], { cwd: ROOT, env }));
}

async function step(what, running) {
  const result = await running;
  if (result.code !== 0) {
    throw new SetupError(
      `${result.output.trim()}\n\nHeadgate: ${what} failed (exit code ${result.code}), see above.`,
    );
  }
  return result;
}

/** npm's own npx where npm started us, as it may not be on the PATH. */
function npx() {
  const beside = process.env['npm_execpath'] ? join(dirname(process.env['npm_execpath']), 'npx-cli.js') : '';
  return existsSync(beside) ? [process.execPath, beside] : ['npx'];
}

function toolEnv(pnpmFolder) {
  // What npm tells the scripts it runs would be taken for their own by the tools we run.
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^npm_(lifecycle|package|command|execpath|node_execpath)|^INIT_CWD$/.test(name),
  );
  const path = [pnpmFolder, dirname(process.execPath), process.env['PATH']].filter(Boolean).join(delimiter);
  return {
    ...Object.fromEntries(inherited),
    PATH: path,
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
  };
}

function isUpToDate(stamp) {
  return (
    stamp.pnpmFolder !== null &&
    existsSync(join(stamp.pnpmFolder, 'pnpm')) &&
    stamp.install === installInputs(ROOT) &&
    isInstalled(ROOT) &&
    stamp.build === buildInputs(ROOT) &&
    isBuilt(ROOT)
  );
}

/** @returns {{ pnpmFolder: string | null, install: string | null, build: string | null }} */
function readStamp() {
  const nothing = { pnpmFolder: null, install: null, build: null };
  try {
    return { ...nothing, ...JSON.parse(readFileSync(STAMP, 'utf8')) };
  } catch {
    return nothing;
  }
}

function writeStamp(stamp) {
  writeFileSync(STAMP, `${JSON.stringify(stamp, null, 2)}\n`);
}

function say(what) {
  console.error(`Headgate: ${what}`);
}
