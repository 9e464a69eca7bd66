import type { BareRepository } from './bare-repository.js';

export interface ForgeRepository {
  readonly id: number;
  readonly fullName: string;
  readonly git: BareRepository;
  readonly pulls: PullRequestRecord[];
  readonly comments: CommentRecord[];
  readonly checkRuns: CheckRunRecord[];
  readonly issues: (IssueRecord & ListedRecord)[];
  /** As GitHub would show them; each with a number or id, `updated_at` and `created_at`. */
  readonly workflowRuns: ListedRecord[];
  readonly checkSuites: ListedRecord[];
  /** What was done on issues and pull requests; each with `issue`, the number. */
  readonly issueEvents: ListedRecord[];
  /** Each with `pull`, the number of its pull request. */
  readonly reviews: ListedRecord[];
  /** Comments on the code; each with `pull`. */
  readonly reviewComments: ListedRecord[];
  /** By login; whoever is not named may write. */
  readonly permissions: Map<string, 'none' | 'read' | 'write' | 'admin'>;
  /** When it was last pushed to, as the repository shows it; not told if not set. */
  pushedAt?: string;
}

export interface IssueRecord {
  readonly number: number;
  title: string;
  body: string | null;
  state: string;
}

/** Where a pull request from elsewhere comes from. */
export interface ForkRecord {
  readonly id: number;
  readonly fullName: string;
  headSha: string;
  pushedAt: string;
}

export type ListedRecord = Readonly<Record<string, unknown>>;

export interface PullRequestRecord {
  readonly number: number;
  readonly headRef: string;
  readonly baseRef: string;
  title: string;
  body: string | null;
  state: 'open' | 'closed';
  isMerged: boolean;
  isDraft: boolean;
  readonly user?: { readonly login: string; readonly id: number; readonly type: string };
  readonly createdAt: string;
  updatedAt: string;
  /** `octocat` by default. */
  author?: string;
  /** `MEMBER` by default. */
  association?: string;
  labels?: readonly string[];
  /** As the list of its files shows them. */
  files?: readonly ListedRecord[];
  /** The record lags the branch: this is what it shows. */
  recordedHead?: string;
  fork?: ForkRecord;
}

export interface CommentRecord {
  readonly id: number;
  /** Our App by default. */
  readonly user?: { readonly login: string; readonly id: number; readonly type: string };
  readonly issueNumber: number;
  body: string;
  readonly createdAt: string;
  updatedAt: string;
}

export interface CheckRunRecord {
  readonly id: number;
  readonly headSha: string;
  /** As last sent: name, status, conclusion, external_id, output. */
  fields: Readonly<Record<string, unknown>>;
}

/** A plain hook, of a repository (`owner/name`) or an organisation (its name). */
export interface ForgeHook {
  readonly id: number;
  readonly owner: string;
  readonly url: string;
}

export interface ForgeApp {
  readonly id: number;
  /** PEM. */
  readonly publicKey: string;
  readonly installationId: number;
  readonly permissions: Readonly<Record<string, string>>;
}

export interface MintedToken {
  readonly token: string;
  /** As asked for: repositories, permissions. */
  readonly asked: Readonly<Record<string, unknown>>;
  isRevoked: boolean;
}

/** All that the fake forge holds. Numbers and ids grow, as at the real one. */
export class ForgeState {
  readonly hooks: ForgeHook[] = [];
  readonly repositories: ForgeRepository[] = [];
  /** Set: repositories are seen by this App's tokens only. */
  app: ForgeApp | null = null;
  readonly tokens: MintedToken[] = [];
  #lastId = 1000;

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  mint(asked: Readonly<Record<string, unknown>>, expiresAt: Date) {
    const token = `ghs_${this.nextId()}`;
    this.tokens.push({ token, asked, isRevoked: false });
    const permissions = asked['permissions'] ?? this.app?.permissions ?? {};
    return { token, expires_at: expiresAt.toISOString(), permissions, repository_selection: 'selected' };
  }

  /** Without an App everybody sees everything. */
  isVisible(authorization: string | undefined): boolean {
    if (this.app === null) return true;
    const token = this.tokens.find((it) => authorization === `token ${it.token}`);
    return token !== undefined && !token.isRevoked;
  }

  /** Issues and pull requests share their numbers. */
  nextNumber(repository: ForgeRepository): number {
    return Math.max(0, ...repository.pulls.map((it) => it.number)) + 1;
  }

  find(fullName: string): ForgeRepository | null {
    const wanted = fullName.toLowerCase();
    return this.repositories.find((it) => it.fullName.toLowerCase() === wanted) ?? null;
  }
}
