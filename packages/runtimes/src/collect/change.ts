export type ChangeStatus = 'added' | 'modified' | 'deleted';

export interface ChangedFile {
  readonly path: string;
  readonly status: ChangeStatus;
}

/** A change whose content is at hand, or a deletion. */
export interface Change extends ChangedFile {
  readonly mode: string;
  readonly oid: string;
}
