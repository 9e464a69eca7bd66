#!/usr/bin/env node
/**
 * Writes the documents that are derived from catalogues in code.
 *
 *   node scripts/generate-docs.mjs           write them
 *   node scripts/generate-docs.mjs --check   exit 1 if one is out of date, and write nothing
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { tsImport } from 'tsx/esm/api';
import { cliMarkdown } from './docs/cli.mjs';
import { requirementsMarkdown } from './docs/requirements.mjs';

const root = new URL('../', import.meta.url);
const { reasonCodesMarkdown } = await tsImport('../packages/domain/src/index.ts', import.meta.url);
const { programOf } = await tsImport('../packages/cli/src/program.ts', import.meta.url);

/** Path from the root of the repository, and its text. */
const documents = [
  { path: 'docs/reason-codes.md', text: reasonCodesMarkdown() },
  { path: 'docs/cli.md', text: cliMarkdown(programOf({ env: {}, terminal: {}, now: () => new Date() })) },
  { path: 'docs/requirements.md', text: await requirementsMarkdown(root) },
];

const isCheck = process.argv.includes('--check');
for (const { path, text } of documents) {
  const file = fileURLToPath(new URL(path, root));
  const before = await readFile(file, 'utf8').catch(() => null);
  if (before === text) continue;
  if (isCheck) {
    console.error(`${path} is out of date: run node scripts/generate-docs.mjs`);
    process.exitCode = 1;
  } else {
    await writeFile(file, text);
    console.log(`wrote ${path}`);
  }
}
