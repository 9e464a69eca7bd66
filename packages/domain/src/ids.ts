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

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
/** Two digits of base 32 for each ten bits. */
const PAIRS: readonly string[] = Array.from(
  { length: 1024 },
  (_, bits) => `${DIGITS[bits >> 5]}${DIGITS[bits & 31]}`,
);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * `formatId('run', uuid)` gives `run_01h2x…`: what people and other programs see. Written here, since a run is named ten
 * times on its way and the library takes more than twice as long; a test holds it to the library.
 */
export function formatId<P extends IdPrefix>(prefix: P, id: IdKinds[P]): string {
  if (!UUID.test(id)) throw new SyntaxError(`"${id}" is no UUID`);
  const hex = `${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`;
  // Eight bits, and then six times twenty: 26 digits.
  let digits = PAIRS[Number.parseInt(hex.slice(0, 2), 16)] ?? '';
  for (let at = 2; at < hex.length; at += 5) {
    const bits = Number.parseInt(hex.slice(at, at + 5), 16);
    digits += `${PAIRS[bits >> 10]}${PAIRS[bits & 1023]}`;
  }
  return `${prefix}_${digits}`;
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
