import type { PriorityName } from '@headgate/domain';

export interface CancelRequest {
  /** Kept in the run's record. */
  readonly reason?: string;
}

export interface AgainRequest {
  /** End a live run first; without it a live run is a conflict (409). */
  readonly cancelLive?: boolean;
  readonly reason?: string;
}

export interface ReplayRequest {
  /**
   * `signal` (the default): the same signal once more, decided by today's rules; a version that was admitted is
   * answered DUPLICATE_WORK. `newWork`: a new run of the same version, as a new generation.
   */
  readonly as?: 'signal' | 'newWork';
  /** The same one again gets the same answer, and one receipt. */
  readonly nonce?: string;
  /** Of new work: end a live run first; without it a live run is a conflict (409). */
  readonly cancelLive?: boolean;
}

/** The body of `POST /v1/work`. */
export interface WorkRequest {
  /** By default the only one that lists `manual` and works on the repository. */
  readonly route?: string;
  /** `owner/name`; by default the route's only one. */
  readonly repository?: string;
  readonly target?: {
    readonly kind: 'pull_request' | 'branch' | 'issue' | 'repository';
    readonly id: string;
    readonly ref?: string | null;
  };
  readonly workKey?: string;
  /** By default the head of the target. */
  readonly inputVersion?: string;
  readonly inputs?: unknown;
  /** A name, or seconds of head start. */
  readonly priority?: PriorityName | number;
  readonly reason?: string;
}
