/** api_token: who may ask. `hg_<32 base64url><6 checksum>`; only a hash is kept. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export const TOKEN_ROLES = ['viewer', 'operator', 'approver', 'admin'] as const;
export type TokenRole = (typeof TOKEN_ROLES)[number];

export interface TokenHolder {
  readonly id: string;
  /** Null: every tenant. */
  readonly tenantId: number | null;
  readonly name: string;
  readonly role: TokenRole;
}

const put = statement(
  'api_token.put',
  `insert into headgate.api_token as t (id, tenant_id, name, token_hash, role, expires_at) values ($1, $2, $3, $4, $5, $6)
   on conflict (token_hash) do update set revoked_at = null, role = excluded.role, expires_at = excluded.expires_at`,
);
const revokeNamed = statement(
  'api_token.revoke_named',
  'update headgate.api_token set revoked_at = clock_timestamp() where name = $1 and token_hash <> $2 and revoked_at is null',
);
const authenticate = statement(
  'api_token.authenticate',
  'select id, tenant_id as "tenantId", name, role from headgate.authenticate($1)',
);

/** What is kept of a token. */
export const hashToken = (token: string): Buffer => createHash('sha256').update(token, 'utf8').digest();

/** A fresh token: prefix, 192 random bits, and a checksum that a scanner can recognise. */
export function generateToken(): string {
  const body = randomBytes(24).toString('base64url');
  return `hg_${body}${createHash('sha256').update(body).digest('hex').slice(0, 6)}`;
}

export const apiTokens = {
  /** Stores the hash of a token. With `replace`, other tokens of the same name are revoked. */
  put: async (
    c: Connection,
    t: {
      token: string;
      name: string;
      role: TokenRole;
      tenantId: number | null;
      expiresAt?: Date | null;
      replace?: boolean;
    },
  ): Promise<void> => {
    const hash = hashToken(t.token);
    await c.run(put, [randomUUID(), t.tenantId, t.name, hash, t.role, t.expiresAt ?? null]);
    if (t.replace === true) await c.run(revokeNamed, [t.name, hash]);
  },
  /** Null for unknown, revoked and expired tokens alike. */
  authenticate: async (c: Connection, token: string): Promise<TokenHolder | null> =>
    (await c.run<TokenHolder>(authenticate, [hashToken(token)]))[0] ?? null,
};
