/** A reader of the documents: an instance of the example as `npm start` makes it, and a shell beside it. */

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  atEnd,
  REPOSITORY_ROOT,
  removeDataFolder,
  spawnService,
  temporaryDataFolder,
} from '@headgate/testkit';
import type { Block } from './blocks.js';

/** Where the documents say that the instance listens. */
const PRINTED_ADDRESS = 'http://127.0.0.1:8080';
const READY = /^Headgate is ready: (\S+)\/login#token=/m;
/** Seconds on an idle machine; a minute was seen on one with twenty times its work. */
const START_WITHIN_MS = 180_000;
const BLOCK_WITHIN_MS = 120_000;

export interface Reader {
  /** What is shown on either output, to its end or to where a command failed. */
  type(block: Block): Promise<string>;
}

/** Ends, with all it made, when the test does. */
export async function aReader(): Promise<Reader> {
  const place = temporaryDataFolder();
  const dataDir = join(place, '.headgate');
  atEnd(() => {
    removeDataFolder(dataDir);
    removeDataFolder(place);
  });
  const env = { HEADGATE_DATA_DIR: dataDir, HEADGATE_CONFIG: join(REPOSITORY_ROOT, 'headgate.yaml') };
  const instance = await spawnService({
    entry: 'packages/cli/dist/main.js',
    args: ['up'],
    cwd: place,
    env: { ...env, HEADGATE_PORT: '0' },
  });
  atEnd(async () => {
    await instance.terminate('SIGINT');
  });
  const [, url = ''] = await instance.waitForOutput(READY, START_WITHIN_MS);
  const bin = folderWithNpx(place);
  const path = `${bin}:${process.env['PATH'] ?? ''}`;
  return {
    type: async ({ script }) => {
      const shell = await promisify(execFile)(
        'bash',
        ['-euo', 'pipefail', '-c', `exec 2>&1\n${script.replaceAll(PRINTED_ADDRESS, url)}`],
        { cwd: place, env: { ...process.env, ...env, PATH: path }, timeout: BLOCK_WITHIN_MS },
      ).catch((fault: { readonly stdout?: string }) => ({ stdout: fault.stdout ?? String(fault) }));
      return shell.stdout;
    },
  };
}

/** `npx headgate` as in a clone, without npm: what it adds is a second for each command. */
function folderWithNpx(place: string): string {
  const bin = join(place, 'bin');
  mkdirSync(bin);
  const entry = join(REPOSITORY_ROOT, 'scripts/headgate.mjs');
  const script = `#!/bin/sh\n[ "$1" = headgate ] && shift\nexec "${process.execPath}" "${entry}" "$@"\n`;
  writeFileSync(join(bin, 'npx'), script, { mode: 0o755 });
  return bin;
}
