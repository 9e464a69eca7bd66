/**
 * Text that an agent wrote, before it goes into a commit message, a comment or a page (security 5): no control
 * or direction characters, no mention that notifies anybody, no keyword that closes an issue, no image or
 * markup that loads or hides something.
 */
const ZERO_WIDTH = '\u200b';

export function plainText(text: string, maxCharacters: number): string {
  const cleaned = text
    .normalize('NFC')
    .replace(/\r\n?/g, '\n')
    // Controls but tab and newline; direction marks, which make text read otherwise than it is.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
    .replace(/<!--[\s\S]*?(?:-->|$)/g, '')
    .replace(/<(?=[a-z/!?])/gi, '‹')
    .replace(/!\[/g, '[')
    .replace(/@(?=\w)/g, `@${ZERO_WIDTH}`)
    .replace(
      /\b(close[sd]?|fix(?:e[sd])?|resolve[sd]?)(:?\s+)(?=\S*(?:#|\/(?:issues|pull)\/)\d)/gi,
      `$1${ZERO_WIDTH}$2`,
    )
    .trim();
  const characters = Array.from(cleaned);
  return characters.length <= maxCharacters ? cleaned : `${characters.slice(0, maxCharacters - 1).join('')}…`;
}
