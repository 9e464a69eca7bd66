/** Repairs a defect that a comment describes: `FIXME: \`wrong\` should be \`right\``, for the line below it. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';

const MARK = /^\s*\/\/ FIXME: `([^`]+)` should be `([^`]+)`\s*$/;

/** Gives a sentence for each repair. */
export async function fixMarkedDefects(root: string): Promise<readonly string[]> {
  const done: string[] = [];
  for (const file of await sourceFiles(root)) {
    const lines = (await readFile(file, 'utf8')).split('\n');
    const kept: string[] = [];
    let fixes = 0;
    for (let index = 0; index < lines.length; index += 1) {
      const line = lines[index] ?? '';
      const [, wrong, right] = MARK.exec(line) ?? [];
      const below = lines[index + 1];
      if (wrong === undefined || right === undefined || below === undefined || !below.includes(wrong)) {
        kept.push(line);
        continue;
      }
      kept.push(below.replace(wrong, right));
      index += 1;
      fixes += 1;
      done.push(`${relative(root, file)}: replaced \`${wrong}\` by \`${right}\``);
    }
    if (fixes > 0) await writeFile(file, kept.join('\n'));
  }
  return done;
}

/** Sorted, so that two runs do the same in the same order. */
async function sourceFiles(root: string): Promise<readonly string[]> {
  const found: string[] = [];
  const entries = await readdir(root, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(root, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.')) {
      found.push(...(await sourceFiles(path)));
    } else if (entry.isFile() && /\.[cm]?[jt]s$/.test(entry.name)) found.push(path);
  }
  return found;
}
