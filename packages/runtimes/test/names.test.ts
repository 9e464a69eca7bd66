import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLinkInside, isNameOfGit } from '../src/collect/names.js';

describe('isLinkInside', () => {
  it('never lets a link out, whatever its text (property)', () => {
    const part = fc.constantFrom('..', '.', 'a', 'b', '', '.git', 'c d');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.integer({ min: 0, max: 4 }), (parts, depth) => {
        const target = parts.join('/');
        const path = [...Array(depth).fill('d'), 'link'].join('/');
        if (!isLinkInside(path, target)) return;
        // Walked step by step from its folder, it never goes above the top.
        let level = depth;
        for (const step of target.split('/')) {
          if (step === '..') level -= 1;
          else if (step !== '' && step !== '.') level += 1;
          expect(level).toBeGreaterThanOrEqual(0);
        }
        expect(target.startsWith('/')).toBe(false);
      }),
    );
  });

  it('refuses .. behind a name, which another link could bend', () => {
    expect(isLinkInside('a/b/link', '../../x')).toBe(true);
    expect(isLinkInside('a/b/link', '../../../x')).toBe(false);
    expect(isLinkInside('a/b/link', 'x/../y')).toBe(false);
    expect(isLinkInside('link', '')).toBe(false);
  });
});

describe('isNameOfGit', () => {
  it.each(['.git', '.Git', 'git~1', '.git  ', '.git...', '.git::$INDEX'])('knows %j', (name) => {
    expect(isNameOfGit(name)).toBe(true);
  });
  it.each(['.gitignore', '.github', 'git', '.git-keep', 'git~2x'])('lets %j pass', (name) => {
    expect(isNameOfGit(name)).toBe(false);
  });
});
