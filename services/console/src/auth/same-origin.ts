import type { Request } from 'express';

/**
 * Whether a page of ours sent this. Every browser names the origin of a POST made by a script; SameSite=Strict alone
 * would let another port of the same host act with the cookie.
 */
export function isSameOrigin(request: Request): boolean {
  const origin = request.get('origin');
  const host = request.get('host');
  if (origin === undefined || host === undefined) return false;
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
}
