import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextPage, takeTokenFromAddress } from '../src/session/address-token.js';

const ORIGIN = 'http://127.0.0.1:4000';

function aPage(address: string) {
  const url = new URL(address, ORIGIN);
  const shown: string[] = [];
  return {
    shown,
    page: {
      location: { pathname: url.pathname, search: url.search, hash: url.hash },
      history: { replaceState: (_state: unknown, _title: string, to: string) => void shown.push(to) },
    },
  };
}
const take = ({ page }: ReturnType<typeof aPage>): string | null =>
  // The two members that it reads of a window.
  takeTokenFromAddress(page as unknown as Pick<Window, 'location' | 'history'>);

describe('the token of the printed address', () => {
  it('is taken once, and leaves the address', () => {
    const opened = aPage('/login?next=%2Freceipts#token=hg_secret');
    expect(take(opened)).toBe('hg_secret');
    expect(opened.shown).toEqual(['/login?next=%2Freceipts']);
  });

  it('is taken nowhere but at the sign-in', () => {
    for (const address of [
      '/#token=hg_secret',
      '/runs/run_1#token=hg_secret',
      '/login',
      '/login#token=',
      '/login#x',
    ]) {
      const opened = aPage(address);
      expect(take(opened), address).toBeNull();
      expect(opened.shown).toEqual([]);
    }
  });
});

describe('the page after the sign-in', () => {
  it('is the one that was asked for', () => {
    expect(nextPage('?next=%2Fruns%2Frun_1%3Ftab%3Ddiff', ORIGIN)).toBe('/runs/run_1?tab=diff');
    expect(nextPage('', ORIGIN)).toBe('/');
    expect(nextPage('?next=%2Flogin', ORIGIN)).toBe('/');
  });

  it('is of this site, whatever the address says', () => {
    const hostile = fc.oneof(
      fc.webUrl(),
      fc.string(),
      fc.constantFrom(
        '//example.com',
        '\\\\example.com',
        'javascript:alert(1)',
        'http://127.0.0.1:4000@example.com',
        '/\\example.com',
      ),
    );
    fc.assert(
      fc.property(hostile, (next) => {
        const page = nextPage(`?${new URLSearchParams({ next })}`, ORIGIN);
        expect(page.startsWith('/')).toBe(true);
        expect(new URL(page, ORIGIN).origin).toBe(ORIGIN);
      }),
    );
  });
});
