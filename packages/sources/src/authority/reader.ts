import type { RepositoryRef, RunClaim, SourcePolicy, TargetRef } from '@headgate/domain';

export interface HeadQuery {
  readonly source: SourcePolicy;
  readonly repository: RepositoryRef;
  readonly target: TargetRef;
  /** What else must still be so, and for which version; not asked of a source that cannot tell. */
  readonly claim?: RunClaim | null;
  readonly inputVersion?: string;
  /** Ends the read early; it then answers `unavailable`. */
  readonly signal?: AbortSignal;
}

/** What the source says now, asked directly. */
export type HeadReading =
  | {
      readonly kind: 'head';
      readonly sha: string;
      readonly observedAt: Date;
      /** Of a pull request: its author's login. */
      readonly author?: string | null;
    }
  /** An issue: it has no head; its content is its version. */
  | { readonly kind: 'issue'; readonly contentVersion: string }
  /** The head may stand, but what the signal claimed is no longer so: another base, a check that recovered. */
  | { readonly kind: 'changed'; readonly detail: string }
  /** Two reads of the source contradict each other about the head. */
  | { readonly kind: 'disagrees'; readonly detail: string }
  /** The pull request or issue is there, and closed or merged. */
  | { readonly kind: 'closed'; readonly reason: string }
  /** The source answered, and holds no such target. `detail` says why, where it is known. */
  | { readonly kind: 'gone'; readonly detail?: string }
  /** The source did not answer: nothing is known. */
  | { readonly kind: 'unavailable'; readonly detail: string };

/**
 * Reads the authoritative head of one run's target, before its lease (I6). One read per call, bounded in time by
 * the implementation (10 s), so that a slow repository delays only its own run. Never throws.
 */
export interface SourceReader {
  readHead(query: HeadQuery): Promise<HeadReading>;
  /** Whether somebody may change the repository now; absent: this source knows of no people. */
  readPermission?(query: PermissionQuery): Promise<PermissionReading>;
}

export interface PermissionQuery {
  readonly source: SourcePolicy;
  readonly repository: RepositoryRef;
  /** Null: whoever made the commit. */
  readonly login: string | null;
  readonly sha: string | null;
  readonly signal?: AbortSignal;
}

export type PermissionReading =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'not-allowed'; readonly detail: string }
  /** The source has nothing to say about people. */
  | { readonly kind: 'not-asked' }
  | { readonly kind: 'unavailable'; readonly detail: string };

/** A source is read for at most this long. */
export const READ_TIMEOUT_MS = 10_000;
