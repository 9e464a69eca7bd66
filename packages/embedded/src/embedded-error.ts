export type EmbeddedErrorCode =
  /** Another living process holds this part of the data folder. */
  | 'IN_USE'
  /** No Postgres that can run here was found. */
  | 'NO_POSTGRES'
  /** The server could not be started; the message carries the end of its log. */
  | 'START_FAILED'
  /** The data on disk is not what the servers found here can read. */
  | 'DATA_MISMATCH'
  /** A folder that must be ours belongs to somebody else. */
  | 'UNSAFE_FOLDER'
  /** Asked to kill, restart or empty a server that was given to us by URL. */
  | 'NOT_OURS';

/** A fault of an embedded server. The message says what to do. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
  constructor(
    readonly code: EmbeddedErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
