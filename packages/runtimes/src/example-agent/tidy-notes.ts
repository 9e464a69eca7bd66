/** Brings NOTES.md into order. Done twice, it changes nothing the second time. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Gives a sentence for each kind of change. */
export async function tidyNotes(root: string): Promise<readonly string[]> {
  const file = join(root, 'NOTES.md');
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (before === null) return [];
  const after = tidy(before);
  if (after === before) return [];
  await writeFile(file, after);
  return ['NOTES.md: sorted the lists, removed spaces at line ends and repeated empty lines'];
}

/** Lists sorted, no spaces at line ends, one empty line at most, one newline at the end. */
export function tidy(text: string): string {
  const tidied: string[] = [];
  let list: string[] = [];
  const endList = (): void => {
    tidied.push(...list.sort());
    list = [];
  };
  for (const line of text.split('\n').map((raw) => raw.trimEnd())) {
    if (line.startsWith('- ')) {
      list.push(line);
      continue;
    }
    endList();
    if (line !== '' || tidied.at(-1) !== '') tidied.push(line);
  }
  endList();
  return `${tidied.join('\n').trim()}\n`;
}
