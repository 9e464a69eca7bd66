/** Names and links that could mean something else than they show. */

/** Characters that HFS+ leaves out when it compares names. */
const HFS_IGNORED = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** Whether some file system or tool would take the name for `.git`. */
export function isNameOfGit(name: string): boolean {
  const plain = name.replace(HFS_IGNORED, '').toLowerCase();
  // NTFS drops dots and spaces at the end and stream names, and makes short names.
  const onNtfs = plain.replace(/:.*$/s, '').replace(/[ .]+$/, '');
  return plain === '.git' || onNtfs === '.git' || onNtfs === 'git~1';
}

/**
 * The path as the most forgiving file system would read it: without regard to case or to which of several characters
 * of one meaning was written, without what HFS+ leaves out and NTFS drops. Two paths that are equal so would be one
 * file on some machine.
 */
export const foldedPath = (path: string): string =>
  path
    .split('/')
    .map((name) => {
      const plain = name.normalize('NFKC').replace(HFS_IGNORED, '').toLowerCase().normalize('NFC');
      return plain.replace(/:.*$/s, '').replace(/[ .]+$/, '') || plain;
    })
    .join('/');

/**
 * Whether a link at `path` stays in the workspace wherever it is followed. `..` may stand only at the front:
 * behind a name it could lead through another link to somewhere else than the text says.
 */
export function isLinkInside(path: string, target: string): boolean {
  if (target === '' || target.startsWith('/') || target.includes('\0') || target.includes('\\')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  const depth = path.split('/').length - 1;
  const ups = parts.findIndex((part) => part !== '..');
  const leading = ups < 0 ? parts.length : ups;
  if (leading > depth) return false;
  return parts.slice(leading).every((part) => part !== '..' && !isNameOfGit(part));
}
