import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { type DiffFile, type DiffLine, parseDiff } from '../src/run/parse-diff.js';

/** Lines as they may stand in any file: also such as look like a diff of their own. */
const line = fc.oneof(
  fc.string({ maxLength: 20 }).map((text) => text.replaceAll('\n', ' ')),
  fc.constantFrom('', '+', '-', '--- a/x', '+++ b/x', '@@ -1 +1 @@', 'diff --git a/x b/x', '\\ no'),
);
const change = fc.oneof(
  { weight: 3, arbitrary: line.map((text) => ({ kind: 'same' as const, text })) },
  line.map((text) => ({ kind: 'added' as const, text })),
  line.map((text) => ({ kind: 'removed' as const, text })),
);
const hunk = fc.record({ gap: fc.nat(50), changes: fc.array(change, { minLength: 1, maxLength: 12 }) });
interface Hunk {
  readonly gap: number;
  readonly changes: readonly { readonly kind: 'same' | 'added' | 'removed'; readonly text: string }[];
}
const SIGNS = { same: ' ', added: '+', removed: '-' } as const;

interface Written {
  readonly text: string;
  readonly lines: readonly DiffLine[];
}

/** Hunks as git writes them, and what has to be read from them. */
function written(path: string, hunks: readonly Hunk[]): Written {
  const text = [`diff --git a/${path} b/${path}`, 'index 1111111..2222222 100644', `--- a/${path}`];
  text.push(`+++ b/${path}`);
  const lines: DiffLine[] = [];
  let oldNumber = 1;
  let newNumber = 1;
  for (const { gap, changes } of hunks) {
    oldNumber += gap;
    newNumber += gap;
    const count = (left: 'added' | 'removed'): number => changes.filter(({ kind }) => kind !== left).length;
    const head = `@@ -${oldNumber},${count('added')} +${newNumber},${count('removed')} @@`;
    text.push(head);
    lines.push({ kind: 'hunk', text: head, oldNumber: null, newNumber: null });
    for (const { kind, text: said } of changes) {
      text.push(SIGNS[kind] + said);
      lines.push({
        kind,
        text: said,
        oldNumber: kind === 'added' ? null : oldNumber++,
        newNumber: kind === 'removed' ? null : newNumber++,
      });
    }
  }
  return { text: `${text.join('\n')}\n`, lines };
}

describe('a diff, read for showing', () => {
  it('is read as it was written, whatever its lines look like', () => {
    fc.assert(
      fc.property(fc.array(fc.array(hunk, { maxLength: 4 }), { maxLength: 4 }), (files) => {
        const all = files.map((hunks, index) => written(`src/file ${index}.js`, hunks));
        const read = parseDiff(all.map(({ text }) => text).join(''));
        expect(read.map(({ path }) => path)).toEqual(files.map((_, index) => `src/file ${index}.js`));
        expect(read.map(({ lines }) => lines)).toEqual(all.map(({ lines }) => lines));
        for (const file of read) {
          expect(file.added).toBe(
            file.lines.filter(({ newNumber, oldNumber }) => newNumber !== null && oldNumber === null).length,
          );
        }
      }),
    );
  });

  it('is empty for an empty text, and fails for none', () => {
    expect(parseDiff('')).toEqual([]);
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => void parseDiff(text)));
  });
});

describe('a diff of git itself', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-diff-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-C', folder, ...args], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: folder },
    });
  const put = (name: string, content: string | Uint8Array): void => {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content);
  };
  const commit = (): void => {
    git('add', '-A');
    git('commit', '-q', '-m', 'one', '--allow-empty');
  };
  const between = (): readonly DiffFile[] => parseDiff(git('diff', '-M', 'HEAD~1', 'HEAD'));

  it('tells added, deleted, renamed, binary and changed files apart, by their names', () => {
    git('init', '-q');
    put('docs/new file.md', 'a\n');
    put('täglich "x"\t.md', 'a\n');
    put('gone.txt', 'gone\n');
    put('old name.txt', 'one\ntwo\nthree\nfour\nfive\n');
    put('run.sh', 'echo\n');
    put('empty', '');
    put('no-newline.txt', 'first\nlast');
    put('image.bin', new Uint8Array([0, 1, 2]));
    commit();
    put('docs/new file.md', 'b\n');
    put('täglich "x"\t.md', 'b\n');
    rmSync(join(folder, 'gone.txt'));
    rmSync(join(folder, 'old name.txt'));
    put('new/näme.txt', 'one\ntwo\nthree\nfour\nsix\n');
    execFileSync('chmod', ['+x', join(folder, 'run.sh')]);
    put('no-newline.txt', 'first\nlast one');
    put('image.bin', new Uint8Array([0, 1, 3]));
    put('also empty', '');
    commit();
    const files = new Map(between().map((file) => [file.path, file]));
    expect(
      [...files].map(([path, { change, oldPath, isBinary }]) => ({ path, change, oldPath, isBinary })),
    ).toEqual(
      expect.arrayContaining([
        { path: 'docs/new file.md', change: 'modified', oldPath: null, isBinary: false },
        { path: 'täglich "x"\t.md', change: 'modified', oldPath: null, isBinary: false },
        { path: 'gone.txt', change: 'deleted', oldPath: null, isBinary: false },
        { path: 'new/näme.txt', change: 'renamed', oldPath: 'old name.txt', isBinary: false },
        { path: 'image.bin', change: 'modified', oldPath: null, isBinary: true },
        { path: 'also empty', change: 'added', oldPath: null, isBinary: false },
      ]),
    );
    expect(files.get('run.sh')?.lines.map(({ text }) => text)).toEqual([
      'old mode 100644',
      'new mode 100755',
    ]);
    const notes = files.get('no-newline.txt')?.lines.filter(({ kind }) => kind === 'note');
    expect(notes?.length).toBe(2);
    expect(files.get('no-newline.txt')).toMatchObject({ added: 1, removed: 1 });
  });

  it('holds the new file: the old one with what is shown done to it', () => {
    const content = fc.array(fc.constantFrom('a', 'b', 'c', '', '+x', '-y', '@@ -1 +1 @@', '--- a/z'), {
      maxLength: 40,
    });
    const files = fc.array(fc.tuple(content, content), { minLength: 1, maxLength: 20 });
    const ended = (lines: readonly string[]): string => lines.map((one) => `${one}\n`).join('');
    fc.assert(
      fc.property(files, (pairs) => {
        for (const [index, [before]] of pairs.entries()) put(`many/${index}`, ended(before));
        commit();
        for (const [index, [, after]] of pairs.entries()) put(`many/${index}`, ended(after));
        commit();
        const read = new Map(between().map((file) => [file.path, file]));
        for (const [index, [before, after]] of pairs.entries()) {
          expect(applied(before, read.get(`many/${index}`))).toEqual(after);
        }
        git('rm', '-q', '-r', '--cached', 'many');
        rmSync(join(folder, 'many'), { recursive: true });
      }),
      { numRuns: 12 },
    );
  });
});

function applied(before: readonly string[], file: DiffFile | undefined): readonly string[] {
  const after: string[] = [];
  let taken = 0;
  for (const { kind, text, oldNumber } of file?.lines ?? []) {
    if (oldNumber !== null) {
      after.push(...before.slice(taken, oldNumber - 1));
      expect(before[oldNumber - 1]).toBe(text);
      taken = oldNumber;
    }
    if (kind === 'added') {
      // Lines in front of the first of a hunk are those that the hunk's head passes over.
      after.push(text);
    }
    if (kind === 'same') after.push(text);
    if (kind === 'hunk') {
      const [, start = '0', count = '1'] = /^@@ -(\d+)(?:,(\d+))?/.exec(text) ?? [];
      // A hunk that takes nothing away stands behind its line.
      const passed = Number(count) === 0 ? Number(start) : Number(start) - 1;
      after.push(...before.slice(taken, passed));
      taken = passed;
    }
  }
  return [...after, ...before.slice(taken)];
}
