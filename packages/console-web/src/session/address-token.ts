/** `/login#token=…`: what stands behind # is never sent; and it leaves the address before anything else happens. */
export function takeTokenFromAddress(page: Pick<Window, 'location' | 'history'>): string | null {
  const { pathname, search, hash } = page.location;
  const token = new URLSearchParams(hash.slice(1)).get('token');
  if (pathname !== '/login' || token === null || token === '') return null;
  page.history.replaceState(null, '', pathname + search);
  return token;
}

/** A path of this site, or the first page: `next` comes from the address, which anybody may write. */
export function nextPage(search: string, origin: string): string {
  const next = new URLSearchParams(search).get('next') ?? '/';
  const url = URL.canParse(next, origin) ? new URL(next, origin) : null;
  if (url === null || url.origin !== origin || url.pathname === '/login') return '/';
  return url.pathname + url.search;
}
