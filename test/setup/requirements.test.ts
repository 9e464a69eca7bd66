import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import {
  NUMBERS,
  readRequirements,
  requirementsMarkdown,
  testsByNumber,
} from '../../scripts/docs/requirements.mjs';

const root = new URL('../../', import.meta.url);

describe('docs/requirements.md does not lie', () => {
  test('every requirement has exactly one entry', async () => {
    expect(Object.keys(await readRequirements(root)).sort()).toEqual([...NUMBERS].sort());
  });

  test('every place it names exists', async () => {
    const requirements = await readRequirements(root);
    const missing = NUMBERS.flatMap((number) =>
      (requirements[number]?.places ?? []).filter((place) => !existsSync(new URL(place, root))),
    );
    expect(missing).toEqual([]);
  });

  test('what is called met has a test named after its number, and what is partly met says what is missing', async () => {
    const requirements = await readRequirements(root);
    const tests = await testsByNumber(root);
    const claims = NUMBERS.filter(
      (number) => requirements[number]?.state === 'met' && tests.get(number)?.size === 0,
    );
    expect(claims).toEqual([]);
    const vague = NUMBERS.filter(
      (number) => requirements[number]?.state === 'partly' && !requirements[number].note,
    );
    expect(vague).toEqual([]);
  });

  test('the page is as the generator writes it', async () => {
    expect(await readFile(new URL('docs/requirements.md', root), 'utf8')).toBe(
      await requirementsMarkdown(root),
    );
  });
});
