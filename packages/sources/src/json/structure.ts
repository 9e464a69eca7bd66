/**
 * What the brackets of a JSON text say before anything is built from it: how deep it goes, and how many members its
 * objects are written with. JSON.parse keeps the last of two members with one key in silence, another reader the
 * first: a value with fewer members than its text was written twice somewhere, however its keys were escaped.
 *
 * Of a text that JSON.parse refuses the numbers mean nothing.
 */
export interface JsonStructure {
  readonly isTooDeep: boolean;
  /** Members of all objects, as written. */
  readonly members: number;
}

export function structureOf(text: string, maxDepth: number): JsonStructure {
  let depth = 0;
  let members = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case COLON:
        members += 1;
        break;
      case BRACE_OPEN:
      case BRACKET_OPEN:
        depth += 1;
        if (depth > maxDepth) return { isTooDeep: true, members };
        break;
      case BRACE_CLOSE:
      case BRACKET_CLOSE:
        depth -= 1;
    }
  }
  return { isTooDeep: false, members };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const [BRACE_OPEN, BRACE_CLOSE, BRACKET_OPEN, BRACKET_CLOSE] = [0x7b, 0x7d, 0x5b, 0x5d];

/** The closing quote, or the end of a text that has none. Most of a payload is text: the search for a quote is native. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    if (!isEscaped(text, end)) return end;
  }
  return text.length;
}

/** Behind an odd number of backslashes; the string's own quote bounds the way back. */
function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
