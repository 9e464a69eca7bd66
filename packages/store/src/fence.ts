import type { OperationFence } from '@headgate/domain';

/**
 * The right to act, as its holder knows it. Every write of a claimant carries it and is compared with the lease
 * row under that row's lock, by token *and* id (SQL rule 5): after an asynchronous failover a new primary once
 * issued the same token again.
 */
export type Fence = OperationFence;

/** Column arrays of fences, for `unnest($1::uuid[], $2::bigint[], $3::uuid[])`. */
export const fenceArrays = (fences: readonly Fence[]): [string[], string[], string[]] => [
  fences.map((fence) => fence.runId),
  fences.map((fence) => fence.fencingToken),
  fences.map((fence) => fence.leaseId),
];
