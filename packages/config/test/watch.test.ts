import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ConfigWatcher,
  type LoadResult,
  loadConfig,
  type WatchOptions,
  watchConfig,
} from '@headgate/config';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withRoute } from './say.js';

let folder: string;
let path: string;
let watcher: ConfigWatcher | null = null;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-watch-'));
  path = join(folder, 'headgate.yaml');
});
afterEach(async () => {
  watcher?.close();
  await rm(folder, { recursive: true });
});

const DEADLINE_MS = 30_000;

/** Starts watching and gives everything that was handed on, as short words. */
function watching(options: WatchOptions = {}): { readonly seen: string[]; readonly watcher: ConfigWatcher } {
  const seen: string[] = [];
  watcher = watchConfig(path, (result) => void seen.push(inShort(result)), {
    env: {},
    debounceMs: 5,
    ...options,
  });
  return { seen, watcher };
}

const inShort = (result: LoadResult): string =>
  result.ok
    ? `${result.policy.routes[0]?.mode} ${result.policy.routes[0]?.prompt}`
    : `refused: ${result.problems[0]?.message}`;

const until = (seen: readonly string[], count: number) =>
  vi.waitFor(() => expect(seen.length).toBeGreaterThanOrEqual(count), { timeout: DEADLINE_MS, interval: 5 });

/** Whole at once, as editors do: a file that is written in place is empty for a moment. */
async function put(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

describe('watching the file', () => {
  it('Q7: a change becomes a new policy', async () => {
    await writeFile(path, withRoute('mode: act'));
    const { seen, watcher } = watching();
    await watcher.check();
    expect(seen).toEqual(['act null']);
    await writeFile(path, withRoute('mode: observe'));
    // Looked at between being emptied and being written, it is refused first.
    await vi.waitFor(() => expect(seen.at(-1)).toBe('observe null'), { timeout: DEADLINE_MS, interval: 5 });
  });

  it('a file replaced by renaming, as editors do, is seen', async () => {
    await writeFile(path, withRoute('mode: act'));
    const { seen, watcher } = watching();
    await watcher.check();
    await put(path, withRoute('mode: propose'));
    await until(seen, 2);
    expect(seen[1]).toBe('propose null');
  });

  it('an invalid file is reported once, and the next sound one counts again', async () => {
    await writeFile(path, withRoute('mode: act'));
    const { seen, watcher } = watching();
    await watcher.check();
    await put(path, withRoute('mode: actt'));
    await watcher.check();
    await watcher.check();
    expect(seen).toEqual(['act null', 'refused: "actt" is not a mode']);
    await rm(path);
    await watcher.check();
    await put(path, withRoute('mode: act'));
    await watcher.check();
    expect(seen.slice(2)).toEqual([`refused: there is no file ${path}`, 'act null']);
  });

  it('a change that means the same is not handed on, nor is the policy already in use', async () => {
    const text = withRoute('mode: act');
    await writeFile(path, text);
    const loaded = await loadConfig({ path, env: {} });
    if (!loaded.ok) throw new Error('refused');
    const { seen, watcher } = watching({ currentDigest: loaded.policy.digest });
    await watcher.check();
    await put(path, `# a comment\n${text}`);
    await watcher.check();
    expect(seen).toEqual([]);
  });

  it('a prompt file in another folder is part of the policy', async () => {
    await mkdir(join(folder, 'prompts'));
    const prompt = join(folder, 'prompts', 'tidy.md');
    await writeFile(prompt, 'first');
    await writeFile(path, withRoute('prompt: file:prompts/tidy.md'));
    const { seen, watcher } = watching();
    await watcher.check();
    expect(seen).toEqual(['act first']);
    await put(prompt, 'second');
    await until(seen, 2);
    expect(seen[1]).toBe('act second');
  });

  it('a swapped link, as Kubernetes makes, is found by the slow look even without an event', async () => {
    await writeFile(join(folder, 'one'), withRoute('mode: act'));
    const elsewhere = await mkdtemp(join(tmpdir(), 'headgate-watch-target-'));
    try {
      await writeFile(join(elsewhere, 'target.yaml'), withRoute('mode: act'));
      await symlink(join(elsewhere, 'target.yaml'), path);
      const { seen, watcher } = watching({ pollMs: 20 });
      await watcher.check();
      await put(join(elsewhere, 'target.yaml'), withRoute('mode: propose', 'risk: high'));
      await until(seen, 2);
      expect(seen).toEqual(['act null', 'propose null']);
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  it('hands on one result at a time, the last one in the end', async () => {
    await writeFile(path, withRoute('prompt: "0"'));
    let inside = 0;
    let last = '';
    const release: (() => void)[] = [];
    watcher = watchConfig(
      path,
      async (result) => {
        expect(++inside).toBe(1);
        await new Promise<void>((resolve) => release.push(resolve));
        last = inShort(result);
        inside -= 1;
      },
      { env: {}, debounceMs: 1 },
    );
    const first = watcher.check();
    await vi.waitFor(() => expect(release).toHaveLength(1), { timeout: DEADLINE_MS });
    await writeFile(path, withRoute('prompt: "1"'));
    const second = watcher.check();
    await writeFile(path, withRoute('prompt: "2"'));
    release[0]?.();
    await vi.waitFor(() => expect(release).toHaveLength(2), { timeout: DEADLINE_MS });
    release[1]?.();
    await Promise.all([first, second]);
    expect(last).toBe('act 2');
  });

  it('after close nothing is handed on', async () => {
    await writeFile(path, withRoute('mode: act'));
    const { seen, watcher } = watching();
    watcher.close();
    await watcher.check();
    expect(seen).toEqual([]);
  });
});
