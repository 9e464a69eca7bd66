import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

test('the documents that are made from code are as their generator writes them now', async () => {
  const check = await promisify(execFile)(process.execPath, ['scripts/generate-docs.mjs', '--check'], {
    cwd: root,
  }).catch((fault: { readonly stderr: string }) => fault);
  expect(check.stderr).toBe('');
});
