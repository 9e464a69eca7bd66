/** Runs a command line in this process and keeps what it said. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '@headgate/cli';
import pc from 'picocolors';
import { onTestFinished } from 'vitest';
import type { Terminal } from '../src/terminal/terminal.js';

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly note: string;
}

export const NOW = new Date('2026-01-31T13:50:10.000Z');

export interface RecordingTerminal extends Terminal {
  readonly said: { out: string; note: string };
}

export function recordingTerminal(): RecordingTerminal {
  const said = { out: '', note: '' };
  const line = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);
  return {
    said,
    out: (text) => {
      said.out += line(text);
    },
    note: (text) => {
      said.note += line(text);
    },
    isLive: false,
    columns: 100,
    colors: pc.createColors(false),
  };
}

/** `dataDir` is HEADGATE_DATA_DIR; `env` is the whole of the rest. */
export async function headgate(
  words: readonly string[],
  { dataDir, env = {} }: { readonly dataDir: string; readonly env?: NodeJS.ProcessEnv },
): Promise<Said> {
  const terminal = recordingTerminal();
  const code = await runCli(words, {
    env: { HEADGATE_DATA_DIR: dataDir, ...env },
    cwd: dataDir,
    terminal,
    now: () => NOW,
    onInterrupt: () => {},
  });
  return { code, ...terminal.said };
}

/** Removed when the test has finished. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-cli-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
