/** How much a result may be. */
export interface CollectLimits {
  readonly changedFiles: number;
  readonly diffLines: number;
  /** Of one changed file. */
  readonly fileBytes: number;
  /** Of all changed files together. A sealed result holds at most 64 MiB. */
  readonly totalBytes: number;
  /** Of the patch that people read. */
  readonly patchBytes: number;
  /** Entries of the workspace that are looked at, ignored folders not counted. */
  readonly entries: number;
}

export const COLLECT_LIMITS: CollectLimits = {
  changedFiles: 500,
  diffLines: 20_000,
  fileBytes: 10 * 1024 * 1024,
  totalBytes: 48 * 1024 * 1024,
  patchBytes: 64 * 1024 * 1024,
  entries: 500_000,
};
