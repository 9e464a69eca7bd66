import type { Deliveries } from './deliveries.js';
import type { ForgeRepository, ForgeState } from './forge-state.js';

export interface Call {
  readonly state: ForgeState;
  readonly repository: ForgeRepository;
  /** Of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly now: string;
  /** Where the fake listens, for links. */
  readonly baseUrl: string;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** Set when the call changed something. */
  readonly effect?: { readonly kind: string; readonly objectId: string };
  /** The list has more pages. */
  readonly hasNextPage?: boolean;
  /** Of a list that is paged by a cursor: where the next page begins. */
  readonly nextCursor?: string;
}

export interface Endpoint {
  readonly method: 'get' | 'post' | 'patch';
  /** Behind `/repos/:owner/:repo`. */
  readonly path: string;
  readonly handle: (call: Call) => Answer | Promise<Answer>;
}

/** A call that is no repository's: of an App. */
export interface AppCall {
  readonly state: ForgeState;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly now: Date;
  readonly authorization: string | undefined;
  readonly deliveries: Deliveries;
}

export interface AppEndpoint {
  readonly method: 'get' | 'post';
  /** From the root. */
  readonly path: string;
  readonly handleApp: (call: AppCall) => Answer | Promise<Answer>;
}
