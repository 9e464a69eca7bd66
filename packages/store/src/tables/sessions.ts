/** session: a browser's sign-in. It is worth what its token is worth, and ends with it; only a hash is kept. */
import { randomBytes } from 'node:crypto';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';
import { hashToken, type TokenHolder } from './api-tokens.js';

const columns = 'id, tenant_id as "tenantId", name, role';
const open = statement('session.open', `select ${columns} from headgate.open_session($1, $2, $3)`);
const holder = statement('session.holder', `select ${columns} from headgate.session_holder($1)`);
const close = statement('session.close', 'select headgate.close_session($1)');

export interface OpenedSession {
  /** What the cookie holds: 256 random bits. */
  readonly secret: string;
  readonly holder: TokenHolder;
}

export const sessions = {
  /** Null for unknown, revoked and expired tokens alike. */
  open: async (c: Connection, token: string, ttlMs: number): Promise<OpenedSession | null> => {
    const secret = randomBytes(32).toString('base64url');
    const [row] = await c.run<TokenHolder>(open, [hashToken(token), hashToken(secret), ttlMs]);
    return row === undefined ? null : { secret, holder: row };
  },
  /** Null when it ran out, was closed, or its token is no longer valid. */
  holder: async (c: Connection, secret: string): Promise<TokenHolder | null> =>
    (await c.run<TokenHolder>(holder, [hashToken(secret)]))[0] ?? null,
  close: async (c: Connection, secret: string): Promise<void> => {
    await c.run(close, [hashToken(secret)]);
  },
};
