/**
 * What a kind of source is, to the rest of Headgate. A kind knows its own words; routing, admission, receipts, scans
 * and limits are the same for all.
 */
import type { Signal, SourceKind, SourcePolicy, Verdict } from '@headgate/domain';
import type { Headers } from '../github/headers.js';
import type { RecordedMessage } from './recorded.js';

export interface HookRequest {
  readonly source: SourcePolicy;
  /** The bytes as they came. */
  readonly rawBody: Uint8Array;
  readonly headers: Headers;
  readonly receivedAt: Date;
  readonly traceparent: string | null;
}

export type HookProof =
  | { readonly ok: true }
  /** Not from who it says, or not sent now: nothing is kept of it but a count. */
  | { readonly ok: false; readonly detail: string };

export type HookReading =
  | { readonly kind: 'signal'; readonly signal: Signal }
  /**
   * Authenticated, but unreadable: worth a receipt. `signal` is the envelope for it, without target and with null data.
   * `isMedia`: the content type is the fault.
   */
  | {
      readonly kind: 'malformed';
      readonly detail: string;
      readonly isMedia: boolean;
      readonly signal: Signal;
    };

/** `POST /webhooks/{source}` of one kind. Both never throw, whatever the bytes. */
export interface Hook {
  verify(request: HookRequest, secrets: readonly string[]): HookProof;
  read(request: HookRequest): HookReading;
}

export interface SourceModule {
  readonly kind: SourceKind;
  /** Null: nothing of this kind is taken at /webhooks. */
  readonly hook: Hook | null;
  /** Read again from what was kept; null: this kind keeps nothing that can be read. Never throws. */
  reread(recorded: RecordedMessage): HookReading | null;
  /** What the type alone decides: a ping, an event that is not known (I20). */
  judge(signal: Signal): Verdict | null;
}
