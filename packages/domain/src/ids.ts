/**
 * Identities. UUIDv7 inside, TypeID (`run_01h…`) at every edge.
 *
 * An id is made before the first try of a transaction, so that a retry or a read-back after a lost
 * connection finds the same rows.
 */
import { TypeID } from 'typeid-js';
import { v7 } from 'uuid';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type ReceiptId = Branded<'receipt'>;
export type TaskId = Branded<'task'>;
export type RunId = Branded<'run'>;
export type AttemptId = Branded<'attempt'>;
export type LeaseId = Branded<'lease'>;
export type WorkerId = Branded<'worker'>;
export type OperationId = Branded<'operation'>;
export type DeadLetterId = Branded<'deadLetter'>;
export type ArtifactId = Branded<'artifact'>;
export type ScheduleId = Branded<'schedule'>;
export type ScheduleRequestId = Branded<'scheduleRequest'>;
export type GoalId = Branded<'goal'>;
export type ObservationId = Branded<'observation'>;
export type EventId = Branded<'event'>;
export type DeferredId = Branded<'deferred'>;
export type ApprovalId = Branded<'approval'>;

/** Which id carries which prefix at the edge. */
export interface IdKinds {
  rcpt: ReceiptId;
  task: TaskId;
  run: RunId;
  att: AttemptId;
  lease: LeaseId;
  wkr: WorkerId;
  op: OperationId;
  dl: DeadLetterId;
  art: ArtifactId;
  sch: ScheduleId;
  sreq: ScheduleRequestId;
  goal: GoalId;
  obs: ObservationId;
  evt: EventId;
  dfr: DeferredId;
  apr: ApprovalId;
}
export type IdPrefix = keyof IdKinds;

/** Makes ids. Injected, so that tests can make them deterministic. */
export interface Ids {
  next<P extends IdPrefix>(prefix: P): IdKinds[P];
}

/** UUIDv7 from the system clock and random source; monotonic within a process. */
export const systemIds: Ids = {
  next: <P extends IdPrefix>(_prefix: P) => v7() as IdKinds[P],
};

/** Where JavaScript's digits of base 32 and Crockford's, which leave out i, l, o and u, differ. */
const CROCKFORD: Readonly<Record<string, string>> = {
  i: 'j',
  j: 'k',
  k: 'm',
  l: 'n',
  m: 'p',
  n: 'q',
  o: 'r',
  p: 's',
  q: 't',
  r: 'v',
  s: 'w',
  t: 'x',
  u: 'y',
  v: 'z',
};
/** 128 bits, five to a digit. */
const DIGITS = 26;

/**
 * `formatId('run', uuid)` gives `run_01h2x…`: what people and other programs see. Written here, since a run is named ten
 * times on its way and the library takes seven times as long; a test holds it to the library.
 */
export function formatId<P extends IdPrefix>(prefix: P, id: IdKinds[P]): string {
  const digits = BigInt(`0x${id.replaceAll('-', '')}`)
    .toString(32)
    .padStart(DIGITS, '0');
  return `${prefix}_${digits.replace(/[i-v]/g, (digit) => CROCKFORD[digit] ?? digit)}`;
}

/** As `formatId`, null stays null. */
export function formatIdOrNull<P extends IdPrefix>(prefix: P, id: IdKinds[P] | null): string | null {
  return id === null ? null : formatId(prefix, id);
}

/** The inverse of `formatId`; null when the text is not an id of that kind. Never throws. */
export function parseId<P extends IdPrefix>(prefix: P, text: string): IdKinds[P] | null {
  if (!text.startsWith(`${prefix}_`)) return null;
  try {
    return TypeID.fromString(text, prefix).toUUID() as IdKinds[P];
  } catch {
    return null;
  }
}
