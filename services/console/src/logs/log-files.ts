/**
 * The logs of a run on disk: `{artifacts}/{run}/{attempt}/{step}[-{n}].log`. Their rows are written at an attempt's end;
 * people want to read while it runs, and after its worker died, so the folder is what counts. Only names that a worker
 * gives are looked at, and only attempts that the caller's rows name.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { formatId, type RunId } from '@headgate/domain';
import type { LogFile, LogStep } from '@headgate/sdk';
import type { ArtifactFile, AttemptNumber } from '../queries/index.js';

const NAME = /^(setup|agent|verify)(?:-([1-9]\d{0,3}))?\.log$/;

export interface LogName {
  readonly step: LogStep;
  readonly number: number;
}

/** Null: no worker names a log so. */
export function readLogName(name: string): LogName | null {
  const [, step, number] = NAME.exec(name) ?? [];
  return step === undefined ? null : { step: step as LogStep, number: Number(number ?? '1') };
}

/** Below the artifacts folder. */
export const logPath = (runId: RunId, attempt: number, name: string): string =>
  join(formatId('run', runId), String(attempt), name);

const ORDER: readonly LogStep[] = ['setup', 'agent', 'verify'];

/** In the order in which they were written: by attempt, step and command. `files`: the rows there are. */
export async function logFiles(
  root: string,
  runId: RunId,
  attempts: readonly AttemptNumber[],
  files: readonly ArtifactFile[],
): Promise<LogFile[]> {
  const found: LogFile[] = [];
  for (const attempt of attempts) {
    const here = await onDisk(root, runId, attempt);
    const elsewhere = files.filter(
      (file) => file.attemptNo === attempt.number && !here.some((one) => one.name === file.name),
    );
    found.push(...[...here, ...elsewhere.flatMap(fromRow)].sort(inOrder));
  }
  return found;
}

const inOrder = (a: LogFile, b: LogFile): number =>
  ORDER.indexOf(a.step) - ORDER.indexOf(b.step) || a.number - b.number;

async function onDisk(root: string, runId: RunId, { number, isRunning }: AttemptNumber): Promise<LogFile[]> {
  const folder = join(root, formatId('run', runId), String(number));
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    names.map(async (name): Promise<LogFile[]> => {
      const known = readLogName(name);
      const info = known === null ? null : await stat(join(folder, name)).catch(() => null);
      if (known === null || info === null || !info.isFile()) return [];
      return [
        {
          attempt: number,
          name,
          ...known,
          bytes: info.size,
          isComplete: !isRunning,
          isHere: true,
          writtenAt: info.mtime.toISOString(),
        },
      ];
    }),
  );
  return found.flat();
}

function fromRow({ attemptNo, name, bytes, createdAt }: ArtifactFile): LogFile[] {
  const known = readLogName(name);
  if (known === null) return [];
  return [
    {
      attempt: attemptNo,
      name,
      ...known,
      bytes,
      isComplete: true,
      isHere: false,
      writtenAt: createdAt.toISOString(),
    },
  ];
}
