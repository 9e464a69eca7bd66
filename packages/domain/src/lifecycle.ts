/**
 * The life of a run (Q10): statuses, legal transitions, and where a run is in each of them.
 *
 * This table is the only one. The trigger in Postgres is generated from it (`lifecycle-sql.ts`) and
 * a test proves both equal.
 */
export const RUN_STATUSES = [
  'ADMITTED',
  'WAITING_APPROVAL',
  'WAITING_CAPACITY',
  'QUEUED',
  'CLAIMED',
  'PREPARING_SANDBOX',
  'RUNNING',
  'VERIFYING',
  'JUDGING',
  'FINALIZING',
  'STALE_LEASE',
  'FAILED_RETRYABLE',
  'CANCEL_REQUESTED',
  'CANCELLING',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
  'NO_WORK',
  'SUPERSEDED',
  'EXPIRED',
  'POLICY_DENIED',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const BIRTH_STATUSES = [
  'QUEUED',
  'ADMITTED',
  'WAITING_CAPACITY',
  'WAITING_APPROVAL',
] as const satisfies readonly RunStatus[];
export const WAITING_STATUSES = [
  'ADMITTED',
  'WAITING_APPROVAL',
  'WAITING_CAPACITY',
  'QUEUED',
] as const satisfies readonly RunStatus[];
/** In the order a run passes them. Leaving some out is legal: stage writes are coalesced. */
export const LEASED_STATUSES = [
  'CLAIMED',
  'PREPARING_SANDBOX',
  'RUNNING',
  'VERIFYING',
  'JUDGING',
  'FINALIZING',
] as const satisfies readonly RunStatus[];
export const TERMINAL_STATUSES = [
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
  'NO_WORK',
  'SUPERSEDED',
  'EXPIRED',
  'POLICY_DENIED',
] as const satisfies readonly RunStatus[];
export type LeasedStatus = (typeof LEASED_STATUSES)[number];
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

const fromWaiting: readonly RunStatus[] = ['SUPERSEDED', 'EXPIRED', 'NO_WORK', 'CANCEL_REQUESTED'];
const fromLeased: readonly RunStatus[] = [
  'SUCCEEDED',
  'FAILED',
  'FAILED_RETRYABLE',
  'POLICY_DENIED',
  'STALE_LEASE',
  'WAITING_APPROVAL',
  'CANCEL_REQUESTED',
];

/** Every legal step. What is not here cannot happen, in code or in SQL. */
export const TRANSITIONS: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  ADMITTED: ['QUEUED', 'WAITING_CAPACITY', 'WAITING_APPROVAL', 'POLICY_DENIED', ...fromWaiting],
  WAITING_APPROVAL: ['ADMITTED', 'QUEUED', 'POLICY_DENIED', ...fromWaiting],
  WAITING_CAPACITY: ['ADMITTED', 'QUEUED', 'POLICY_DENIED', ...fromWaiting],
  QUEUED: ['CLAIMED', 'ADMITTED', 'WAITING_CAPACITY', 'WAITING_APPROVAL', 'POLICY_DENIED', ...fromWaiting],
  CLAIMED: ['PREPARING_SANDBOX', 'RUNNING', 'VERIFYING', 'JUDGING', 'FINALIZING', 'NO_WORK', ...fromLeased],
  PREPARING_SANDBOX: ['RUNNING', 'VERIFYING', 'JUDGING', 'FINALIZING', 'NO_WORK', ...fromLeased],
  RUNNING: ['VERIFYING', 'JUDGING', 'FINALIZING', ...fromLeased],
  VERIFYING: ['RUNNING', 'JUDGING', 'FINALIZING', ...fromLeased],
  JUDGING: ['RUNNING', 'FINALIZING', ...fromLeased],
  FINALIZING: fromLeased,
  STALE_LEASE: ['FAILED_RETRYABLE', 'FAILED', 'CANCEL_REQUESTED'],
  FAILED_RETRYABLE: ['QUEUED', 'FAILED', 'CANCEL_REQUESTED'],
  CANCEL_REQUESTED: ['CANCELLING'],
  CANCELLING: ['CANCELLED'],
  SUCCEEDED: [],
  FAILED: [],
  CANCELLED: [],
  NO_WORK: [],
  SUPERSEDED: [],
  EXPIRED: [],
  POLICY_DENIED: [],
};

/** What people are told: a few words for all statuses. */
export const PUBLIC_STATUSES = ['waiting', 'running', 'succeeded', 'failed', 'cancelled', 'skipped'] as const;
export type PublicStatus = (typeof PUBLIC_STATUSES)[number];

/** Where a run is: which hot row stands for it. `never` = passed through inside one transaction, never at rest. */
export type Place = 'nowhere' | 'item-delayed' | 'item' | 'lease' | 'never';
export const PLACE: Readonly<Record<RunStatus, Place>> = {
  ADMITTED: 'nowhere',
  WAITING_APPROVAL: 'nowhere',
  WAITING_CAPACITY: 'item-delayed',
  QUEUED: 'item',
  CLAIMED: 'lease',
  PREPARING_SANDBOX: 'lease',
  RUNNING: 'lease',
  VERIFYING: 'lease',
  JUDGING: 'lease',
  FINALIZING: 'lease',
  STALE_LEASE: 'never',
  FAILED_RETRYABLE: 'never',
  CANCEL_REQUESTED: 'lease',
  CANCELLING: 'lease',
  SUCCEEDED: 'nowhere',
  FAILED: 'nowhere',
  CANCELLED: 'nowhere',
  NO_WORK: 'nowhere',
  SUPERSEDED: 'nowhere',
  EXPIRED: 'nowhere',
  POLICY_DENIED: 'nowhere',
};

const includes = (list: readonly RunStatus[], status: RunStatus): boolean => list.includes(status);

export const isTerminal = (status: RunStatus): status is TerminalStatus =>
  includes(TERMINAL_STATUSES, status);
export const isWaiting = (status: RunStatus): boolean => includes(WAITING_STATUSES, status);
export const isLeased = (status: RunStatus): status is LeasedStatus => includes(LEASED_STATUSES, status);
export const isCancelling = (status: RunStatus): boolean =>
  status === 'CANCEL_REQUESTED' || status === 'CANCELLING';
export const isLegal = (from: RunStatus, to: RunStatus): boolean => includes(TRANSITIONS[from], to);

export function publicStatus(status: RunStatus): PublicStatus {
  switch (status) {
    case 'ADMITTED':
    case 'QUEUED':
    case 'WAITING_APPROVAL':
    case 'WAITING_CAPACITY':
      return 'waiting';
    case 'SUCCEEDED':
      return 'succeeded';
    case 'FAILED':
      return 'failed';
    case 'CANCELLED':
      return 'cancelled';
    case 'NO_WORK':
    case 'SUPERSEDED':
    case 'EXPIRED':
    case 'POLICY_DENIED':
      return 'skipped';
    default:
      return 'running';
  }
}

/** The stages between two leased statuses, both ends included: each leaves its event although one write moved the row. */
export function stagesPassed(from: LeasedStatus, to: LeasedStatus): readonly LeasedStatus[] {
  const start = LEASED_STATUSES.indexOf(from);
  const end = LEASED_STATUSES.indexOf(to);
  return end > start ? LEASED_STATUSES.slice(start, end + 1) : [from, to];
}
