/** Longer than this, or of several lines, a message is folded. */
const LINE_CHARACTERS = 240;

/** What stands of a message before it is unfolded; all of it where that is a line. Pure. */
export function firstLine(message: string): string {
  const [line = ''] = message.split('\n', 1);
  if (line.length > LINE_CHARACTERS) return `${line.slice(0, LINE_CHARACTERS)}…`;
  return line === message ? line : `${line} …`;
}
