/**
 * Watches headgate.yaml and the prompt files it names, and hands on each new policy.
 *
 * Only this watcher reads the files; it writes nothing. Editors replace files by renaming and Kubernetes
 * swaps a link, so folders are watched, not files; a slow look at the clock of each file is the net for file
 * systems that send no events. One reading runs at a time; a change during it makes one more. A file that is
 * invalid is reported once and the policy before it stays; a change that means the same is not handed on.
 */
import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Env, type LoadResult, loadConfig } from './load-config.js';
import { formatProblems } from './problems/index.js';

export interface WatchOptions {
  readonly env?: Env;
  readonly dataDir?: string;
  readonly realForge?: boolean;
  /** Digest of the policy in use: the first reading is handed on only if it differs. */
  readonly currentDigest?: string | null;
  /** How long the files must be quiet: an editor writes in several steps. */
  readonly debounceMs?: number;
  /** The slow look for changes without events. */
  readonly pollMs?: number;
}

export interface ConfigWatcher {
  /** Reads now, as if a file had changed. Resolves when what there was has been handed on. */
  check(): Promise<void>;
  close(): void;
}

const DEBOUNCE_MS = 200;
const POLL_MS = 5_000;

/**
 * `onChange` gets a new policy (`ok: true`), or what is wrong with the file (`ok: false`; keep the old
 * policy). Calls do not overlap: the next waits for the promise it returns. What it throws is its caller's
 * fault to handle: it rejects `check()`, and after an event it ends as an unhandled rejection.
 */
export function watchConfig(
  path: string,
  onChange: (result: LoadResult) => void | Promise<void>,
  options: WatchOptions = {},
): ConfigWatcher {
  const watchers = new Map<string, FSWatcher>();
  let files: readonly string[] = [resolve(path)];
  let stamp = '';
  let lastHandedOn = options.currentDigest ?? null;
  let running: Promise<void> | null = null;
  let isAskedAgain = false;
  let debounce: NodeJS.Timeout | null = null;
  let isClosed = false;

  const read = async (): Promise<void> => {
    do {
      isAskedAgain = false;
      stamp = await stampOf(files);
      const result = await loadConfig({
        path,
        env: options.env ?? process.env,
        ...(options.dataDir === undefined ? {} : { dataDir: options.dataDir }),
        ...(options.realForge === undefined ? {} : { realForge: options.realForge }),
      });
      if (isClosed) return;
      if (result.files.join('\n') !== files.join('\n')) {
        files = result.files;
        stamp = await stampOf(files);
      }
      followFolders();
      const identity = result.ok ? result.policy.digest : formatProblems(result.problems, path);
      if (identity === lastHandedOn || isClosed) continue;
      lastHandedOn = identity;
      await onChange(result);
    } while (isAskedAgain && !isClosed);
  };

  const check = (): Promise<void> => {
    if (isClosed) return Promise.resolve();
    isAskedAgain = true;
    running ??= read().finally(() => {
      running = null;
    });
    return running;
  };

  const soon = (): void => {
    if (debounce !== null) clearTimeout(debounce);
    debounce = setTimeout(() => void check(), options.debounceMs ?? DEBOUNCE_MS);
    debounce.unref();
  };

  const followFolders = (): void => {
    const wanted = new Set(files.map((file) => dirname(file)));
    for (const [folder, watcher] of watchers) {
      if (wanted.has(folder)) continue;
      watcher.close();
      watchers.delete(folder);
    }
    for (const folder of wanted) {
      if (watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, soon);
        // A folder that vanishes or cannot be watched is left to the poll.
        watcher.on('error', () => {
          watcher.close();
          watchers.delete(folder);
        });
        watchers.set(folder, watcher);
      } catch {
        // The same: no folder, or no watches left in the system.
      }
    }
  };

  const poll = setInterval(async () => {
    followFolders();
    if (running === null && (await stampOf(files)) !== stamp) soon();
  }, options.pollMs ?? POLL_MS);
  poll.unref();
  followFolders();
  void stampOf(files).then((first) => {
    if (stamp === '') stamp = first;
  });

  return {
    check,
    close: () => {
      isClosed = true;
      clearInterval(poll);
      if (debounce !== null) clearTimeout(debounce);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}

/** Changes when any of the files does: identity, size and time of each. */
async function stampOf(files: readonly string[]): Promise<string> {
  const stamps = await Promise.all(
    files.map(async (file) => {
      try {
        const { ino, size, mtimeMs } = await stat(file);
        return `${ino}/${size}/${mtimeMs}`;
      } catch {
        return 'none';
      }
    }),
  );
  return stamps.join('\n');
}
