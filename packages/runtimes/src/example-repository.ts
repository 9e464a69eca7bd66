/**
 * The repository of the example: a small program with a failing test and an untidy page, in a bare repository
 * that plays the forge. The same commits on every machine.
 *
 * Safe if several processes make it at once: each builds its own beside the place and renames it there; the
 * kernel lets one win, and the others find it.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { gitOutput } from '@headgate/git';
import { removeTree } from './workspace/remove.js';

export const EXAMPLE_BRANCH = 'main';

const FILES: Readonly<Record<string, string>> = {
  'README.md': [
    '# Price list',
    '',
    'The repository that Headgate ships with. `npm test` fails: the example agent finds out why.',
    '',
  ].join('\n'),
  'package.json': `${JSON.stringify(
    { name: 'price-list', version: '1.0.0', private: true, type: 'module', scripts: { test: 'node --test' } },
    null,
    2,
  )}\n`,
  '.gitignore': 'node_modules/\n*.log\n',
  'src/price.js': [
    '/** The sum of all positions, in cents. */',
    'export function total(positions) {',
    '  // FIXME: `sum - position.cents` should be `sum + position.cents`',
    '  return positions.reduce((sum, position) => sum - position.cents, 0);',
    '}',
    '',
    '/** 1250 is shown as 12.50. */',
    'export function format(cents) {',
    '  return (cents / 100).toFixed(2);',
    '}',
    '',
  ].join('\n'),
  'test/price.test.js': [
    "import assert from 'node:assert/strict';",
    "import { test } from 'node:test';",
    "import { format, total } from '../src/price.js';",
    '',
    "test('the total is the sum of all positions', () => {",
    '  assert.equal(total([{ cents: 250 }, { cents: 1000 }]), 1250);',
    '});',
    '',
    "test('cents are shown with two decimals', () => {",
    "  assert.equal(format(1250), '12.50');",
    '});',
    '',
  ].join('\n'),
  'NOTES.md': [
    '# Notes   ',
    '',
    '- ship the price list  ',
    '- ask for review',
    '- buy apples\t',
    '',
    '',
    '',
    'Kept in order by the example agent.   ',
  ].join('\n'),
};

/** The file with the defect that the agent repairs, as it stands at the start. */
export const EXAMPLE_DEFECT = { file: 'src/price.js', text: FILES['src/price.js'] ?? '' } as const;

const IDENTITY = 'Example <example@users.noreply.invalid> 1767225600 +0000';

export interface ExampleRepository {
  readonly path: string;
  /** Where `main` points now. */
  readonly headSha: string;
  readonly isNew: boolean;
}

export async function createExampleRepository(path: string): Promise<ExampleRepository> {
  let isNew = false;
  if (!existsSync(path)) {
    await mkdir(dirname(path), { recursive: true });
    const draft = `${path}.${randomUUID()}`;
    try {
      await build(draft);
      await rename(draft, path);
      isNew = true;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      // Another process was first: a folder with content is never replaced.
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
    } finally {
      await removeTree(draft);
    }
  }
  const head = await gitOutput({
    gitDir: path,
    args: ['rev-parse', '--verify', `refs/heads/${EXAMPLE_BRANCH}`],
  });
  return { path, headSha: head.toString('utf8').trim(), isNew };
}

async function build(path: string): Promise<void> {
  await gitOutput({
    cwd: dirname(path),
    args: ['init', '--quiet', '--bare', '--template=', `--initial-branch=${EXAMPLE_BRANCH}`, '--', path],
  });
  await gitOutput({ gitDir: path, args: ['fast-import', '--quiet', '--done'], stdin: importStream() });
}

function importStream(): string {
  const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const files = Object.entries(FILES).map(([name, text]) => `M 100644 inline ${name}\n${data(text)}`);
  return [
    `commit refs/heads/${EXAMPLE_BRANCH}\n`,
    `author ${IDENTITY}\ncommitter ${IDENTITY}\n`,
    data('Start the price list\n'),
    ...files,
    'done\n',
  ].join('');
}
