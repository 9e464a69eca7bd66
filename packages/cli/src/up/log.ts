/**
 * The log of `up`: JSON lines in `{data}/logs/headgate.log`, and for the person at the terminal one short line per
 * warning or error, each kind at most once in a while.
 */
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger, type Logger } from '@headgate/telemetry';
import type { Terminal } from '../terminal/terminal.js';

export interface UpLog {
  readonly logger: Logger;
  readonly file: string;
  close(): void;
}

const ROTATE_BYTES = 20 * 1024 * 1024;
const WARNING = 40;
const ERROR = 50;
/** The same complaint again within this time goes to the file only. */
const QUIET_MS = 30_000;

export function openLog(folder: string, level: string, terminal: Terminal): UpLog {
  const file = join(folder, 'headgate.log');
  let fd = openSync(file, 'a', 0o600);
  let bytes = fstatSync(fd).size;
  let isClosed = false;
  const lastSaid = new Map<string, number>();

  const rotate = (): void => {
    closeSync(fd);
    renameSync(file, `${file}.1`);
    fd = openSync(file, 'a', 0o600);
    bytes = 0;
  };
  const write = (line: string): void => {
    if (isClosed) return;
    if (bytes > ROTATE_BYTES) rotate();
    try {
      bytes += writeSync(fd, line);
    } catch {
      // A full disk must not end the services; what matters is in Postgres.
    }
    const said = complaintIn(line);
    if (said === null) return;
    const now = Date.now();
    if (now - (lastSaid.get(said.message) ?? 0) < QUIET_MS) return;
    lastSaid.set(said.message, now);
    const mark = said.level >= ERROR ? terminal.colors.red('error') : terminal.colors.yellow('warning');
    terminal.note(`${mark} ${said.message}${said.cause === '' ? '' : `: ${said.cause}`}`);
  };
  const logger = createLogger('headgate', { level, destination: { write } });
  return {
    logger,
    file,
    close: () => {
      if (isClosed) return;
      isClosed = true;
      closeSync(fd);
    },
  };
}

/** pino writes the level first: most lines are not parsed. */
const LEVEL = /^\{"level":(\d+)/;

function complaintIn(line: string): { level: number; message: string; cause: string } | null {
  const level = Number(LEVEL.exec(line)?.[1] ?? 0);
  if (level < WARNING) return null;
  try {
    const fields = JSON.parse(line) as { msg?: unknown; err?: { message?: unknown } };
    return { level, message: String(fields.msg ?? ''), cause: String(fields.err?.message ?? '') };
  } catch {
    return { level, message: line.trim(), cause: '' };
  }
}
