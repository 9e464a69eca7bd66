/** The console's cookie: an opaque secret, out of reach of scripts, sent to this site only by this site. */
import type { CookieOptions, Request, Response } from 'express';

export const SESSION_COOKIE = 'headgate_session';
/** A working day; the token's own end comes first. */
export const SESSION_TTL_MS = 12 * 3_600_000;

export function sessionSecretOf(request: Request): string | null {
  for (const pair of (request.get('cookie') ?? '').split(';')) {
    const [name, value] = pair.trim().split('=');
    if (name === SESSION_COOKIE && value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value)) return value;
  }
  return null;
}

const options = (request: Request): CookieOptions => ({
  httpOnly: true,
  sameSite: 'strict',
  path: '/',
  secure: request.secure,
});

export const setSessionCookie = (request: Request, response: Response, secret: string): void => {
  response.cookie(SESSION_COOKIE, secret, { ...options(request), maxAge: SESSION_TTL_MS });
};

export const clearSessionCookie = (request: Request, response: Response): void => {
  response.clearCookie(SESSION_COOKIE, options(request));
};
