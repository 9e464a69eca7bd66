/** How a command ends (docs/cli.md). */
export const EXIT = {
  done: 0,
  /** Refused, failed, not true. */
  negative: 1,
  /** The command line, the environment or the configuration cannot work. */
  usage: 2,
  notFound: 3,
  /** There is no instance, or it does not answer. */
  notReached: 4,
  notAllowed: 5,
  timedOut: 6,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An expected end of a command that is not "done": one sentence for people, and what to do. */
export class CommandEnd extends Error {
  override readonly name = 'CommandEnd';
  constructor(
    readonly exitCode: ExitCode,
    message: string,
    readonly advice: string | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
