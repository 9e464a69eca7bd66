/**
 * What is wrong with where a run is: its status against the hot rows that stand for it (the table `PLACE`).
 *
 * Every legal change moves status, item and lease in one transaction, so one snapshot in which they disagree shows
 * a row that was lost or left over, never one that is on its way.
 */
import { isTerminal, isWaiting, PLACE, type RunStatus } from './lifecycle.js';

/** A run and its hot rows, as one snapshot shows them. */
export interface Standing {
  /** Null: there is no such run. */
  readonly status: RunStatus | null;
  readonly item: 'delayed' | 'ready' | 'dispatched' | null;
  readonly isLeased: boolean;
}

export const MISPLACEMENTS = [
  /** It waits to be dispatched and nothing will dispatch it. */
  'item-missing',
  /** It waits for capacity, yet its item may be dispatched already: the status was left behind. */
  'item-not-delayed',
  /** Somebody should hold it and nobody does. */
  'lease-missing',
  /** It rests where a run only passes through, and nobody holds it. */
  'stuck-in-passing',
  /** It has ended. */
  'item-of-ended',
  'lease-of-ended',
  /** Where the run is there is no place for an item. */
  'item-misplaced',
  /** It waits, and yet somebody holds it. */
  'lease-of-waiting',
  /** No run stands behind the row. */
  'item-without-run',
  'lease-without-run',
] as const;
export type Misplacement = (typeof MISPLACEMENTS)[number];

/** Everything that is wrong; nothing for a run that is where it belongs. */
export function misplacementsOf({ status, item, isLeased }: Standing): readonly Misplacement[] {
  const hasItem = item !== null;
  if (status === null) return found([hasItem, 'item-without-run'], [isLeased, 'lease-without-run']);
  if (isTerminal(status)) return found([hasItem, 'item-of-ended'], [isLeased, 'lease-of-ended']);
  const leaseOfWaiting = [isLeased && isWaiting(status), 'lease-of-waiting'] as const;
  switch (PLACE[status]) {
    case 'nowhere':
      return found([hasItem, 'item-misplaced'], leaseOfWaiting);
    case 'item-delayed':
      return found(
        [!hasItem && !isLeased, 'item-missing'],
        [hasItem && item !== 'delayed', 'item-not-delayed'],
        leaseOfWaiting,
      );
    case 'item':
      return found([!hasItem && !isLeased, 'item-missing'], leaseOfWaiting);
    case 'lease':
      return found([!isLeased, 'lease-missing'], [hasItem && isLeased, 'item-misplaced']);
    case 'never':
      return ['stuck-in-passing'];
  }
}

const found = (...checks: readonly (readonly [boolean, Misplacement])[]): readonly Misplacement[] =>
  checks.filter(([isWrong]) => isWrong).map(([, misplacement]) => misplacement);

/**
 * How a run goes on that was found at rest where it only passes through. STALE_LEASE: its loss is not charged yet,
 * so the retry decision is still to be made. FAILED_RETRYABLE: it was decided that it is tried again.
 */
export function pathOutOfPassing(status: RunStatus, retry: boolean): readonly RunStatus[] {
  switch (status) {
    case 'STALE_LEASE':
      return retry ? ['FAILED_RETRYABLE', 'QUEUED'] : ['FAILED'];
    case 'FAILED_RETRYABLE':
      return ['QUEUED'];
    default:
      return [];
  }
}
