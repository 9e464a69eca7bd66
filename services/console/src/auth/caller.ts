import { TOKEN_ROLES, type TokenRole } from '@headgate/store';

/** Who asks, and which tenants' rows they may see. */
export interface Caller {
  readonly tokenId: string;
  readonly name: string;
  readonly role: TokenRole;
  /** Null: the token is bound to no tenant. */
  readonly tenantId: number | null;
  readonly tenants: readonly number[];
  readonly via: 'bearer' | 'session';
}

/** How the caller stands in records: `token:ci`. */
export const actorOf = (caller: Caller): string => `token:${caller.name}`;

/** viewer < operator < approver < admin: each may do what those before it may. */
export const mayAct = (role: TokenRole, needed: TokenRole): boolean =>
  TOKEN_ROLES.indexOf(role) >= TOKEN_ROLES.indexOf(needed);
