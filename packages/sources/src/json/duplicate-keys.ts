/**
 * Is a key in one object twice? JSON.parse keeps the last one in silence, another reader the first: who checks one
 * would act on the other. Takes text that JSON.parse has accepted, so that only strings and brackets matter.
 */
export function hasDuplicateKey(text: string): boolean {
  /** Of each open bracket: the keys of an object so far, or null for an array. */
  const open: (Set<string> | null)[] = [];
  let isKeyNext = false;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        const keys = open.at(-1);
        if (isKeyNext && keys != null) {
          const key = keyIn(text, at, end);
          if (keys.has(key)) return true;
          keys.add(key);
          isKeyNext = false;
        }
        at = end;
        break;
      }
      case BRACE_OPEN:
        open.push(new Set());
        isKeyNext = true;
        break;
      case BRACKET_OPEN:
        open.push(null);
        isKeyNext = false;
        break;
      case COMMA:
        isKeyNext = open.at(-1) != null;
        break;
      case BRACE_CLOSE:
      case BRACKET_CLOSE:
        open.pop();
        isKeyNext = false;
    }
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const [BRACE_OPEN, BRACE_CLOSE, BRACKET_OPEN, BRACKET_CLOSE] = [0x7b, 0x7d, 0x5b, 0x5d];

/** The closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** As it is meant: `"\u0061"` and `"a"` are one key. */
function keyIn(text: string, start: number, end: number): string {
  const written = text.slice(start, end + 1);
  return written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1);
}
