/** A unified diff as git writes it, read for showing. Pure; what it does not understand it shows as it is. */
export type DiffLine = {
  readonly kind: 'added' | 'removed' | 'same' | 'hunk' | 'note';
  readonly text: string;
  readonly oldNumber: number | null;
  readonly newNumber: number | null;
};

export interface DiffFile {
  readonly path: string;
  readonly oldPath: string | null;
  readonly change: 'added' | 'deleted' | 'renamed' | 'modified';
  readonly isBinary: boolean;
  readonly added: number;
  readonly removed: number;
  readonly lines: readonly DiffLine[];
}

interface Draft {
  path: string;
  oldPath: string | null;
  change: DiffFile['change'];
  isBinary: boolean;
  lines: DiffLine[];
  oldNumber: number;
  newNumber: number;
  /** Lines that the hunk still holds, of the old and of the new file. */
  oldLeft: number;
  newLeft: number;
}

export function parseDiff(text: string): readonly DiffFile[] {
  const files: Draft[] = [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) {
    const file = files.at(-1);
    if (file !== undefined && (file.oldLeft > 0 || file.newLeft > 0)) inHunk(file, line);
    else if (line.startsWith('diff --git ')) files.push(begun(line));
    else if (file !== undefined) betweenHunks(file, line);
  }
  return files.map(finished);
}

function begun(line: string): Draft {
  // `diff --git a/x b/x`: names with spaces are the same on both sides, so half of the rest is one name.
  const rest = line.slice('diff --git '.length);
  const half = rest.slice(0, (rest.length - 1) / 2);
  return {
    path: unquoted(half).replace(/^a\//, ''),
    oldPath: null,
    change: 'modified',
    isBinary: false,
    lines: [],
    oldNumber: 0,
    newNumber: 0,
    oldLeft: 0,
    newLeft: 0,
  };
}

function betweenHunks(file: Draft, line: string): void {
  const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
  if (hunk !== null) {
    file.oldNumber = Number(hunk[1]);
    file.oldLeft = Number(hunk[2] ?? '1');
    file.newNumber = Number(hunk[3]);
    file.newLeft = Number(hunk[4] ?? '1');
    file.lines.push({ kind: 'hunk', text: line, oldNumber: null, newNumber: null });
  } else if (line.startsWith('new file mode')) file.change = 'added';
  else if (line.startsWith('deleted file mode')) file.change = 'deleted';
  else if (/^(old|new) mode /.test(line)) file.lines.push(note(line));
  else if (line.startsWith('rename from ')) {
    file.change = 'renamed';
    file.oldPath = unquoted(line.slice('rename from '.length));
  } else if (line.startsWith('rename to ')) file.path = unquoted(line.slice('rename to '.length));
  else if (/^(GIT binary patch|Binary files )/.test(line)) file.isBinary = true;
  else if (line.startsWith('\\')) file.lines.push(note(line));
}

function inHunk(file: Draft, line: string): void {
  const text = line.slice(1);
  switch (line[0]) {
    case '+':
      file.lines.push({ kind: 'added', text, oldNumber: null, newNumber: file.newNumber++ });
      file.newLeft -= 1;
      return;
    case '-':
      file.lines.push({ kind: 'removed', text, oldNumber: file.oldNumber++, newNumber: null });
      file.oldLeft -= 1;
      return;
    case '\\':
      file.lines.push(note(line));
      return;
    default:
      file.lines.push({ kind: 'same', text, oldNumber: file.oldNumber++, newNumber: file.newNumber++ });
      file.oldLeft -= 1;
      file.newLeft -= 1;
  }
}

const note = (line: string): DiffLine => ({ kind: 'note', text: line, oldNumber: null, newNumber: null });

const ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  t: 9,
  n: 10,
  v: 11,
  f: 12,
  r: 13,
  '"': 34,
  '\\': 92,
};
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** git writes a name with strange characters between quotes, each of its bytes as in C. */
function unquoted(name: string): string {
  if (!/^".*"$/.test(name)) return name;
  const bytes: number[] = [];
  for (const [part] of name.slice(1, -1).matchAll(/\\[0-7]{3}|\\.|[^\\]+/g)) {
    if (!part.startsWith('\\')) bytes.push(...encoder.encode(part));
    else if (part.length === 4) bytes.push(Number.parseInt(part.slice(1), 8));
    else bytes.push(ESCAPES[part.slice(1)] ?? 63);
  }
  return decoder.decode(new Uint8Array(bytes));
}

const finished = ({ path, oldPath, change, isBinary, lines }: Draft): DiffFile => ({
  path,
  oldPath,
  change,
  isBinary,
  added: lines.filter((line) => line.kind === 'added').length,
  removed: lines.filter((line) => line.kind === 'removed').length,
  lines,
});
