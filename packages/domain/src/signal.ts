/**
 * The envelope: what every trigger is turned into before anything is decided (I3, CloudEvents attributes).
 *
 * A signal only says "wake up". It has been authenticated; it authorises nothing.
 */
/**
 * Of the envelope as it is kept (deferred signals). It grows when a field changes its meaning; a new field does not need
 * it. A reader takes every version up to its own; a newer one is left to a newer process.
 */
export const ENVELOPE_VERSION = 1;

export type TriggerFamily = 'event' | 'schedule' | 'goal' | 'manual';
export type Via = 'webhook' | 'poll' | 'scan' | 'timer' | 'api';

export interface Actor {
  readonly kind: 'user' | 'bot' | 'schedule' | 'token' | 'system';
  /** The source's stable id (GitHub numeric user id, token id). */
  readonly id: string;
  /** For display only. */
  readonly name: string;
}

export interface RepositoryRef {
  /** The forge's numeric id, or for a git source a digest of its URL: stable under rename. */
  readonly externalId: string;
  /** `owner/name`, for display and for matching names in the configuration. */
  readonly fullName: string;
  readonly defaultBranch: string | null;
}

export interface TargetRef {
  readonly kind: 'pull_request' | 'branch' | 'issue' | 'repository';
  /** Stable id in the source, e.g. the pull request's number or the branch's name. */
  readonly id: string;
  /** Branch name (no `refs/heads/`) whose head is the input, when there is one. */
  readonly ref: string | null;
  /** Extra part of the work key, e.g. the check's name. */
  readonly aspect: string | null;
}

/** A command in a comment, or the button of a check. */
export interface Command {
  readonly name: string;
  /** The rest of its line. */
  readonly argument: string;
}

/** Which files a change touches, as its source lists them; a renamed one under both names. */
export interface ChangedFiles {
  readonly paths: readonly string[];
  /** False: the source lists only so many, and there are more. */
  readonly isWhole: boolean;
}

export interface Signal {
  /** Source id in the configuration (`example-github`); `schedule/<id>` and `api` for the built-in ones. */
  readonly source: string;
  /** Stable identity of the delivery inside its source. GitHub: `<hook id>/<GUID>` or the GUID alone. */
  readonly eventId: string;
  /** `github.check_run.completed`, `schedule.tick`, `manual`. Unknown types pass; they get a receipt. */
  readonly type: string;
  readonly trigger: TriggerFamily;
  readonly via: Via;
  readonly hookId: string | null;
  readonly subject: string | null;
  readonly emittedAt: Date | null;
  readonly receivedAt: Date;
  readonly actor: Actor | null;
  readonly repository: RepositoryRef | null;
  readonly target: TargetRef | null;
  /** The version of the input (head SHA), when the payload carries it. */
  readonly inputVersion: string | null;
  /** When the source says that version came to be: the supersede order. Null = order unknown. */
  readonly sourceAt: Date | null;
  /** Input versions that this one is known to follow (`before` of a push): decides order before time. */
  readonly parentVersions: readonly string[];
  /** The parsed payload, as the source sent it. Unknown fields stay. */
  readonly data: unknown;
  /** What a person asks for in a comment (`/agent fix the tests`); absent or null: nothing. */
  readonly command?: Command | null;
  /** Of a pull request or a push, where they were read; absent or null: they were not. */
  readonly changedFiles?: ChangedFiles | null;
  /** W3C traceparent of the request or tick that brought it. */
  readonly traceparent: string | null;
}
