import { Lexer } from 'yaml';
import type { Problem } from '../problems/index.js';

/** A configuration is read by people; a megabyte of it is a mistake or an attack. */
export const MAX_FILE_BYTES = 1024 * 1024;
/** Deepest real file: about 8 levels. The composer recurses, and a full stack ends the process. */
const MAX_DEPTH = 64;
const MAX_INDENT_COLUMNS = 200;
/** Tokens, counted by the lexer: keeps the time to compose below about two seconds. */
const MAX_TOKENS = 400_000;

/** What can be refused before the text is composed. Linear in the text's length. */
export function checkShape(text: string): readonly Problem[] {
  const bytes = Buffer.byteLength(text, 'utf8');
  if (bytes > MAX_FILE_BYTES) {
    return [
      whole(
        `the file has ${bytes.toLocaleString('en-US')} bytes, more than 1 MiB`,
        'Split the routes over several instances, or move prompts into files.',
      ),
    ];
  }
  // Tab, line feed and carriage return are the only control characters with a meaning in YAML.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.exec(text);
  if (control) {
    const name = `U+${control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
    return [
      {
        path: '',
        ...placeOf(text, control.index),
        message: `there is a control character (${name})`,
        fix: 'Remove it: the file is plain text.',
      },
    ];
  }
  return checkDepth(text);
}

function checkDepth(text: string): readonly Problem[] {
  let offset = 0;
  let flow = 0;
  let tokens = 0;
  let marksOnLine = 0;
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    if (token === '[' || token === '{') flow += 1;
    else if (token === ']' || token === '}') flow -= 1;
    else if (token === '-' || token === '?') marksOnLine += 1;
    else if (token.includes('\n')) marksOnLine = 0;
    const indent = /^ +$/.test(token) && (offset === 0 || text[offset - 1] === '\n') ? token.length : 0;
    if (flow > MAX_DEPTH || marksOnLine > MAX_DEPTH || indent > MAX_INDENT_COLUMNS) {
      return [
        {
          path: '',
          ...placeOf(text, offset),
          message: `the file is nested more than ${MAX_DEPTH} levels deep`,
          fix: 'A configuration needs about eight.',
        },
      ];
    }
    if (tokens > MAX_TOKENS) {
      return [
        whole(`the file has more than ${MAX_TOKENS.toLocaleString('en-US')} words and marks`, 'Shorten it.'),
      ];
    }
    // The lexer's own marks (start of document, of a scalar) take no room in the text.
    if (token !== '\u0002' && token !== '\u0018' && token !== '\u001f') offset += token.length;
  }
  return [];
}

function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return { line, column: offset - (before.lastIndexOf('\n') + 1) + 1 };
}

const whole = (message: string, fix: string): Problem => ({
  path: '',
  line: null,
  column: null,
  message,
  fix,
});
