import type { RepositoryRef, SourcePolicy, TargetRef } from '@headgate/domain';

export interface HeadQuery {
  readonly source: SourcePolicy;
  readonly repository: RepositoryRef;
  readonly target: TargetRef;
  /** Ends the read early; it then answers `unavailable`. */
  readonly signal?: AbortSignal;
}

/** What the source says now, asked directly. */
export type HeadReading =
  | { readonly kind: 'head'; readonly sha: string; readonly observedAt: Date }
  /** The pull request or issue is there, and closed or merged. */
  | { readonly kind: 'closed'; readonly reason: string }
  /** The source answered, and holds no such target. */
  | { readonly kind: 'gone' }
  /** The source did not answer: nothing is known. */
  | { readonly kind: 'unavailable'; readonly detail: string };

/**
 * Reads the authoritative head of one run's target, before its lease (I6). One read per call, bounded in time by
 * the implementation (10 s), so that a slow repository delays only its own run. Never throws.
 */
export interface SourceReader {
  readHead(query: HeadQuery): Promise<HeadReading>;
}

/** A source is read for at most this long. */
export const READ_TIMEOUT_MS = 10_000;
