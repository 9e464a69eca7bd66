import type { BareRepository } from './bare-repository.js';

export interface ForgeRepository {
  readonly id: number;
  readonly fullName: string;
  readonly git: BareRepository;
  readonly pulls: PullRequestRecord[];
  readonly comments: CommentRecord[];
  readonly checkRuns: CheckRunRecord[];
}

export interface PullRequestRecord {
  readonly number: number;
  readonly headRef: string;
  readonly baseRef: string;
  title: string;
  body: string | null;
  state: 'open' | 'closed';
  isMerged: boolean;
  isDraft: boolean;
  readonly createdAt: string;
  updatedAt: string;
}

export interface CommentRecord {
  readonly id: number;
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

/** All that the fake forge holds. Numbers and ids grow, as at the real one. */
export class ForgeState {
  readonly repositories: ForgeRepository[] = [];
  #lastId = 1000;

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
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
