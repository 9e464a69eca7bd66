/** Repository patterns of the configuration: `acme/api`, `acme/web-*`. Forges compare names without case. */

/** `*` and `?` stay inside one segment, `**` crosses them; a lone `*` means every repository. */
export function matchesRepository(pattern: string, fullName: string): boolean {
  if (pattern === '*') return true;
  return toRegExp(pattern).test(fullName);
}

function toRegExp(pattern: string): RegExp {
  const source = pattern.replace(/\*{2,}|\*|\?|[\\^$.|+()[\]{}/]/g, (token) => {
    if (token.startsWith('**')) return '.*';
    if (token === '*') return '[^/]*';
    if (token === '?') return '[^/]';
    return `\\${token}`;
  });
  return new RegExp(`^${source}$`, 'iu');
}
