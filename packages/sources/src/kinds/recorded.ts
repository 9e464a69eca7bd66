/** A message as it was kept: what is needed to read it again by today's code. */
import type { Actor, Signal, SourcePolicy, Verdict } from '@headgate/domain';

export interface RecordedMessage {
  readonly source: SourcePolicy;
  readonly eventId: string;
  /** As it was called when it came: `github.check_run.completed`. */
  readonly type: string;
  readonly hookId: string | null;
  readonly via: Signal['via'];
  /** Who sent it, where the body does not say. */
  readonly actor: Actor | null;
  readonly mediaType: string;
  readonly body: Uint8Array;
  /** Kept because the body alone cannot be read; null: it can. */
  readonly headers: Readonly<Record<string, string>> | null;
  readonly receivedAt: Date;
}

export interface Reread {
  readonly signal: Signal;
  /** What can be said without routes and state; null: those decide. */
  readonly verdict: Verdict | null;
}
