/** What a service hands to admission: a signal, and what it already knows about it. */
import {
  type DeferredId,
  type Directive,
  ENVELOPE_VERSION,
  type ObserveSpec,
  type OnNewVersion,
  type ReasonCode,
  type ReceiptId,
  type Signal,
  type TaskId,
  type Verdict,
  type WorkIdentity,
} from '@headgate/domain';

export interface Submission {
  readonly signal: Signal;
  /** Tenant id of the configuration, for signals that no route takes; a route's own tenant wins. */
  readonly tenant: string;
  /** The body as it came, kept beside the receipt; null where there was none (ticks). */
  readonly payload: {
    readonly mediaType: string;
    readonly body: Buffer;
    /** Without which the body cannot be read again; absent or null: it can. */
    readonly headers?: Readonly<Record<string, string>> | null;
  } | null;
  /** Decided before any state: MALFORMED, PING, UNKNOWN_EVENT, OVERLAP_SKIPPED … Null: routing and state decide. */
  readonly verdict?: Verdict | null;
  /** Known before; null: identified from the signal and its route. */
  readonly work?: WorkIdentity | null;
  readonly directive?: Directive;
  /** Instead of the route's own: a person's priority for one run. */
  readonly headStartSeconds?: number | null;
  /** Instead of the route's `onNewVersion`: a schedule's overlap rule. */
  readonly beside?: Beside | null;
  readonly again?: Again | null;
  /** The run only observes: no agent, no result, and no key that is shared with runs that work. */
  readonly observe?: ObserveSpec | null;
  /** Set when a deferred signal or a latch is promoted. */
  readonly promotes?: Promotion | null;
  /** Set when it was received before, and a person wants it decided once more. */
  readonly replays?: Replay | null;
  /** Up to where the source was looked at; kept on a no-work receipt. */
  readonly watermark?: string | null;
}

/** How a run gets on with the other runs of its task. */
export interface Beside {
  readonly onNewVersion: OnNewVersion;
  /** One of them at a time; else side by side. */
  readonly exclusive: boolean;
}

export interface Promotion {
  readonly deferredId: DeferredId;
  readonly parentReceiptId: ReceiptId;
  /** Why it waited. */
  readonly reasonCode: ReasonCode;
  /** The route that had it wait; the other routes have decided. Null: kept by an older version, or no route took it. */
  readonly route: string | null;
  /** Of a payload that only wakes (`authority: source`): once it was read, every route decides. */
  readonly wake: 'none' | 'unread' | 'read';
  /** Set when it waited as a task's queueOne latch, which must fall with this promotion whatever it leads to. */
  readonly latch: { readonly taskId: TaskId; readonly tenant: string; readonly workKey: string } | null;
}

/** It is no news: what people did and what became of a pull request was told when it first came. */
export interface Replay {
  readonly receiptId: ReceiptId;
  /** The route that decided then; null: none took it, so all are asked. */
  readonly route: string | null;
  /** `token:ci`. */
  readonly by: string;
}

/**
 * A person runs known work again: the route by its name, whatever its `on`, `when` and scope say of this signal, which
 * stands for another; and the key that the first run was counted under, since its event is not here to derive it from.
 */
export interface Again {
  readonly route: string;
  readonly concurrencyKey: string | null;
  /** What the prompt's templates were filled with; absent: it has none, or was kept by an older version. */
  readonly promptValues?: Readonly<Record<string, string>>;
}

/** What of a submission is kept while it is deferred; the payload stays with its first receipt. */
export interface DeferredSubmission {
  /** ENVELOPE_VERSION of who wrote it. */
  readonly version: number;
  readonly signal: Signal;
  readonly tenant: string;
  readonly work: WorkIdentity | null;
  readonly directive: Directive;
  readonly headStartSeconds: number | null;
  readonly beside: Beside | null;
  /** The work key it was deferred under; null where none was known. */
  readonly workKey: string | null;
  readonly again: Again | null;
  readonly observe: ObserveSpec | null;
  /** The route that it waits for; null where none took it. */
  readonly route: string | null;
  readonly replays: Replay | null;
  /** Its payload only wakes: nothing of it counts before its source was read. */
  readonly isWake: boolean;
  /** The version it was deferred at; null where none was known. */
  readonly inputVersion: string | null;
  /** RFC 3339, of a version that waits for more signals: when the first of them was decided. */
  readonly debouncedSince: string | null;
}

/** Whether this process knows what the envelope means; one that a newer process wrote waits for such a one. */
export const isReadable = (stored: unknown): boolean =>
  ((stored as Partial<DeferredSubmission> | null)?.version ?? 1) <= ENVELOPE_VERSION;

/** Reads a deferred submission back from jsonb: instants become dates again. */
export function reviveDeferred(stored: unknown): DeferredSubmission {
  const kept = stored as DeferredSubmission & {
    signal: Record<'emittedAt' | 'receivedAt' | 'sourceAt', string | null>;
  };
  const { signal } = kept;
  return {
    ...kept,
    // Before it was written down it was the first.
    version: kept.version ?? 1,
    again: kept.again ?? null,
    observe: kept.observe ?? null,
    route: kept.route ?? null,
    replays: kept.replays ?? null,
    isWake: kept.isWake ?? false,
    inputVersion: kept.inputVersion ?? null,
    debouncedSince: kept.debouncedSince ?? null,
    signal: {
      ...(signal as unknown as Signal),
      emittedAt: dateOrNull(signal.emittedAt),
      receivedAt: dateOrNull(signal.receivedAt) ?? new Date(0),
      sourceAt: dateOrNull(signal.sourceAt),
    },
  };
}

const dateOrNull = (value: string | Date | null): Date | null => (value === null ? null : new Date(value));
