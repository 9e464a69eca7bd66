/** `GET /v1/stream`: server-sent events. Each has one of these names, and its data as JSON. */
import type { PublicStatus, ReasonCode, RunStatus } from '@headgate/domain';
import type { Instant } from './shared.js';

/** `event: change`, with an id to resume from. Something happened to a run or a task. */
export interface StreamChange {
  readonly eventId: string;
  readonly at: Instant;
  readonly type: string;
  readonly runId: string | null;
  readonly taskId: string | null;
  readonly from: RunStatus | null;
  readonly to: RunStatus | null;
  readonly publicStatus: PublicStatus | null;
  readonly reasonCode: ReasonCode | null;
  readonly attempt: number | null;
}

/** `event: beat`, every few seconds: until when the stream is complete. */
export interface StreamBeat {
  /** When the database was last read; null: not since this connection began. */
  readonly readAt: Instant | null;
}

/** `event: reload`: changes were left out; what is shown has to be read again. */
export interface StreamReload {
  readonly why: 'slow' | 'too-old' | 'restored';
}
