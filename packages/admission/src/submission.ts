/** What a service hands to admission: a signal, and what it already knows about it. */
import type {
  DeferredId,
  Directive,
  ObserveSpec,
  OnNewVersion,
  ReceiptId,
  Signal,
  TaskId,
  Verdict,
  WorkIdentity,
} from '@headgate/domain';

export interface Submission {
  readonly signal: Signal;
  /** Tenant id of the configuration, for signals that no route takes; a route's own tenant wins. */
  readonly tenant: string;
  /** The body as it came, kept beside the receipt; null where there was none (ticks). */
  readonly payload: { readonly mediaType: string; readonly body: Buffer } | null;
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
  /** Set when it waited as a task's queueOne latch, which must fall with this promotion whatever it leads to. */
  readonly latch: { readonly taskId: TaskId; readonly tenant: string; readonly workKey: string } | null;
}

/**
 * A person runs known work again: the route by its name, whatever its `on`, `when` and scope say of this signal, which
 * stands for another; and the key that the first run was counted under, since its event is not here to derive it from.
 */
export interface Again {
  readonly route: string;
  readonly concurrencyKey: string | null;
}

/** What of a submission is kept while it is deferred; the payload stays with its first receipt. */
export interface DeferredSubmission {
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
}

/** Reads a deferred submission back from jsonb: instants become dates again. */
export function reviveDeferred(stored: unknown): DeferredSubmission {
  const kept = stored as DeferredSubmission & {
    signal: Record<'emittedAt' | 'receivedAt' | 'sourceAt', string | null>;
  };
  const { signal } = kept;
  return {
    ...kept,
    again: kept.again ?? null,
    observe: kept.observe ?? null,
    signal: {
      ...(signal as unknown as Signal),
      emittedAt: dateOrNull(signal.emittedAt),
      receivedAt: dateOrNull(signal.receivedAt) ?? new Date(0),
      sourceAt: dateOrNull(signal.sourceAt),
    },
  };
}

const dateOrNull = (value: string | Date | null): Date | null => (value === null ? null : new Date(value));
