/** Patterns of the configuration: `acme/web-*`, `release/**`, `src/**`. */

/** `*` and `?` stay inside one segment, `**` crosses them; a lone `*` means every repository. Forges compare names without case. */
export function matchesRepository(pattern: string, fullName: string): boolean {
  if (pattern === '*') return true;
  return toRegExp(pattern, 'iu').test(fullName);
}

/** As for repositories, with case: branches, paths, labels. `src/**` also means `src` itself. */
export function matchesGlob(pattern: string, text: string): boolean {
  return toRegExp(pattern, 'u').test(text);
}

/** Logins, which forges compare without case. */
export const matchesLogin = (pattern: string, login: string): boolean => toRegExp(pattern, 'iu').test(login);

function toRegExp(pattern: string, flags: string): RegExp {
  const source = pattern.replace(/\/\*\*$|\*\*\/|\*{2,}|\*|\?|[\\^$.|+()[\]{}/]/g, (token) => {
    if (token === '/**') return '(?:/.*)?';
    if (token === '**/') return '(?:.*/)?';
    if (token.startsWith('**')) return '.*';
    if (token === '*') return '[^/]*';
    if (token === '?') return '[^/]';
    return `\\${token}`;
  });
  return new RegExp(`^${source}$`, flags);
}
