/** Paths of GitHub's API, made so that no name can leave its place. */

/** `repositoryPath('acme/api', 'git/ref/heads', 'fix/a b')` is `/repos/acme/api/git/ref/heads/fix/a%20b`. */
export function repositoryPath(fullName: string, ...parts: readonly (string | number)[]): string {
  return pathOf('repos', fullName, ...parts);
}

export const organizationPath = (name: string, ...parts: readonly string[]): string =>
  pathOf('orgs', name, ...parts);

const pathOf = (...parts: readonly (string | number)[]): string =>
  parts
    .flatMap((part) => String(part).split('/'))
    .map((segment) => `/${encodeSegment(segment)}`)
    .join('');

/** A segment of dots would climb. */
const encodeSegment = (segment: string): string =>
  /^\.{1,2}$/.test(segment) ? segment.replaceAll('.', '%2E') : encodeURIComponent(segment);

const NEXT = /<([^>]+)>\s*;[^,]*\brel="next"/;

/**
 * The next page as GitHub's `Link` names it, below the API's base. Only path and query are taken: it is asked where
 * the page before was asked, whatever host stands there.
 */
export function nextPageOf(link: string | number | undefined, baseUrl: string): string | null {
  const found = typeof link === 'string' ? NEXT.exec(link)?.[1] : undefined;
  if (found === undefined || !URL.canParse(found, baseUrl)) return null;
  const { pathname, search } = new URL(found, baseUrl);
  const base = new URL(baseUrl).pathname.replace(/\/+$/, '');
  return `${pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname}${search}`;
}

/** The library fills in `:name` and `{name}` in a path: none of ours may be taken for one. */
export function splitPath(path: string): { readonly path: string; readonly query: Record<string, string> } {
  const [plain = '', search = ''] = path.split('?');
  return {
    path: plain.replaceAll(':', '%3A').replaceAll('{', '%7B').replaceAll('}', '%7D'),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}
