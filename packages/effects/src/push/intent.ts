/** What a push means to do, as the ledger keeps it. */
import type { Operation, OperationData } from '@headgate/domain';
import { isBranchRef, isSha, withoutCredentials } from '@headgate/git';

export interface PushIntent {
  /** Without credentials. */
  readonly remoteUrl: string;
  readonly ref: string;
  readonly commitSha: string;
  /** What the reference points at before; null = it does not exist. */
  readonly expectedOldSha: string | null;
}

export function pushIntentData(intent: PushIntent): OperationData {
  return {
    remoteUrl: withoutCredentials(intent.remoteUrl),
    ref: intent.ref,
    commitSha: intent.commitSha,
    expectedOldSha: intent.expectedOldSha,
  };
}

/** The intent of a row; null when it is not one of a push. */
export function readPushIntent(operation: Operation): PushIntent | null {
  const { remoteUrl, ref, commitSha, expectedOldSha } = operation.intent;
  if (operation.kind !== 'push') return null;
  if (typeof remoteUrl !== 'string' || typeof ref !== 'string' || !isBranchRef(ref)) return null;
  if (typeof commitSha !== 'string' || !isSha(commitSha)) return null;
  if (expectedOldSha !== null && (typeof expectedOldSha !== 'string' || !isSha(expectedOldSha))) return null;
  return { remoteUrl, ref, commitSha, expectedOldSha };
}

/** Whether two intents would have the same visible effect. */
export const isSamePush = (a: PushIntent, b: PushIntent): boolean =>
  a.ref === b.ref &&
  a.commitSha === b.commitSha &&
  a.expectedOldSha === b.expectedOldSha &&
  withoutCredentials(a.remoteUrl) === withoutCredentials(b.remoteUrl);
