import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { probeVersion } from '../process/unprivileged.js';

export interface RedisBinary {
  readonly program: string;
  /** What it needs beside the usual environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly from: 'path' | 'apt';
}

const NAMES = ['redis-server', 'valkey-server'] as const;

/** The first server on the PATH that runs; null when there is none. */
export function redisOnPath(path = process.env['PATH'] ?? ''): RedisBinary | null {
  for (const folder of path.split(delimiter).filter(Boolean)) {
    for (const name of NAMES) {
      const program = join(folder, name);
      if (isRunnable(program) && probeVersion(program, null).ok) return { program, env: {}, from: 'path' };
    }
  }
  return null;
}

function isRunnable(program: string): boolean {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
