/** Object names. SHA-1 repositories have 40 hex digits, SHA-256 ones 64. */
const SHA = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

export const isSha = (text: string): boolean => SHA.test(text);

export type ObjectFormat = 'sha1' | 'sha256';

/** Which hash a repository uses, read off one of its object names. */
export const objectFormatOf = (sha: string): ObjectFormat => (sha.length === 64 ? 'sha256' : 'sha1');

/** The "no object" name: how git writes a deletion. */
export const zeroSha = (format: ObjectFormat): string => '0'.repeat(format === 'sha256' ? 64 : 40);

/**
 * Whether git takes `ref` as a full branch reference. The rules of git-check-ref-format, so that a name from
 * outside never reaches an argument list unchecked.
 */
export function isBranchRef(ref: string): boolean {
  if (!ref.startsWith('refs/heads/') || ref.endsWith('/') || ref.endsWith('.')) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what git refuses
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\//.test(ref)) return false;
  return ref.split('/').every((part) => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'));
}
