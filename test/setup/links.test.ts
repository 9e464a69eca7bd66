import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g;
const FENCED = /^```[\s\S]*?^```/gm;

async function pages(): Promise<readonly string[]> {
  const below = await readdir(join(root, 'docs'), { recursive: true });
  const top = await readdir(root);
  return [
    ...top.filter((name) => name.endsWith('.md')).map((name) => join(root, name)),
    ...below.filter((name) => name.endsWith('.md')).map((name) => join(root, 'docs', name)),
  ];
}

/** As GitHub makes anchors of headings. */
const anchorsOf = (text: string): ReadonlySet<string> =>
  new Set(
    [...text.replaceAll(FENCED, '').matchAll(/^#+\s+(.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(/\s/g, '-'),
    ),
  );

test('every link between the documents leads somewhere', async () => {
  const broken: string[] = [];
  for (const page of await pages()) {
    const text = (await readFile(page, 'utf8')).replaceAll(FENCED, '');
    for (const [, target = ''] of text.matchAll(LINK)) {
      if (/^[a-z]+:/i.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      const isThere =
        existsSync(file) &&
        (anchor === undefined ||
          !file.endsWith('.md') ||
          anchorsOf(await readFile(file, 'utf8')).has(anchor));
      if (!isThere) broken.push(`${relative(root, page)}: ${target}`);
    }
  }
  expect(broken).toEqual([]);
});
