/**
 * A push through the ledger (I15, INV-EF1..5): at most one visible effect, whatever dies when.
 *
 *   intend ──► [look up, if tried before] ──► attempt ──► git push ──► confirm
 *                        ▲                                   │ no trustworthy answer
 *                        └────────────── ambiguous ◄─────────┘
 *
 * Who may act: the holder of the current lease; `intend` and `attempt` prove it, the latter immediately before
 * the call, and `mayCall` that its own time is not over (INV-LE5). A claimant that lost its lease in between makes
 * at most this one call, and the explicit expectation makes it harmless: it finds the reference where its successor left it (stale), or pushes the very
 * commit that the successor would (the result is sealed, so both have the same).
 * Crash points: after `intended` nothing was called; after `attempted` or `called` the row says attempted, and
 * the next claimant reads before it calls; after `confirmed` it finds the row and calls nothing.
 * "Absent" is believed only after the settle window, because a call that was cut off may still land.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Operation, OperationFence, OperationLedger, ReasonCode } from '@headgate/domain';
import { isOperationUnknown } from '@headgate/domain';
import { pushCommit, type RemoteOptions } from '@headgate/git';
import { failPoint, HISTORY_OPS, record, testSignal } from '@headgate/telemetry';
import { isSamePush, type PushIntent, pushIntentData, readPushIntent } from './intent.js';
import { lookUpPush, type PushTrace } from './lookup.js';

/** How long a call that was cut off may take to land. */
export const SETTLE_MS = 60_000;
/** Between two reads inside the settle window. */
const READ_EVERY_MS = 2_000;
/** Calls of one `performPush`; each is preceded by its own attempt and, after the first, by a read. */
const MAX_CALLS = 2;

export interface PerformPushInput extends RemoteOptions {
  readonly ledger: OperationLedger;
  readonly fence: OperationFence;
  /** `operationKey({ kind: 'push', … })` */
  readonly key: string;
  /** A repository of our own that holds the commit; never one an agent could write. */
  readonly gitDir: string;
  readonly commitSha: string;
  readonly remoteUrl: string;
  /** `refs/heads/…` */
  readonly ref: string;
  readonly expectedOldSha: string | null;
  /** Asked right before the call, by the caller's own clock: whether it may still act. Default: it may. */
  readonly mayCall?: () => boolean;
  /** Where a person can see the branch, if the forge has such a page. */
  readonly url?: string | null;
  readonly settleMs?: number;
  /** Waits; resolves early when the signal aborts. Injected by tests. */
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export type PerformPushResult =
  | { readonly kind: 'confirmed'; readonly sha: string; readonly operation: Operation }
  /** It may have happened. Ask again later with the same key; nothing is called before a read. */
  | { readonly kind: 'ambiguous'; readonly detail: string }
  /** It certainly did not happen this time. May be tried again. */
  | { readonly kind: 'failed'; readonly reasonCode: ReasonCode; readonly detail: string }
  /** The reference moved; nothing was overwritten and nothing will be tried again. */
  | {
      readonly kind: 'conflicted';
      readonly reasonCode: 'SOURCE_MOVED';
      readonly detail: string;
    }
  /** The remote's own rules forbid it. */
  | { readonly kind: 'refused'; readonly reasonCode: 'EFFECT_FAILED'; readonly detail: string }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'fence-lost' };

/** Pushes one commit to one branch once. Throws only for faults (the ledger is unreachable). */
export async function performPush(input: PerformPushInput): Promise<PerformPushResult> {
  const { ledger, fence, key } = input;
  const intent: PushIntent = {
    remoteUrl: input.remoteUrl,
    ref: input.ref,
    commitSha: input.commitSha,
    expectedOldSha: input.expectedOldSha,
  };
  const intended = await ledger.intend({ key, kind: 'push', fence, intent: pushIntentData(intent) });
  // The ledger itself records the intent in the history, with the time of its commit.
  if (!('operation' in intended)) return { kind: intended.kind };
  await failPoint('effects.intended');

  const standing = readPushIntent(intended.operation);
  if (standing === null || !isSamePush(standing, intent)) {
    return {
      kind: 'conflicted',
      reasonCode: 'SOURCE_MOVED',
      detail: `the operation already stands for another push (${JSON.stringify(intended.operation.intent)})`,
    };
  }
  let operation = intended.operation;
  for (let calls = 0; ; ) {
    if (isOperationUnknown(operation.state)) {
      const settled = await settle(input, intent, operation);
      if ('ended' in settled) return settled.ended;
      operation = settled.operation;
    }
    const ended = outcomeOf(operation, intent.commitSha);
    if (ended !== null) return ended;
    if (calls === MAX_CALLS) {
      return {
        kind: 'failed',
        reasonCode: 'EFFECT_FAILED',
        detail: operation.detail ?? 'the push did not land',
      };
    }
    calls += 1;
    const called = await call(input, intent);
    if ('ended' in called) return called.ended;
    operation = called.operation;
  }
}

/** The row as a step left it, or the end of the whole. */
type Step = { readonly operation: Operation } | { readonly ended: PerformPushResult };

/** Attempt, call, report. Gives the row as it stands afterwards. */
async function call(input: PerformPushInput, intent: PushIntent): Promise<Step> {
  const { ledger, fence, key } = input;
  note(input, 'invoke', HISTORY_OPS.attempt);
  const attempt = await ledger.attempt({ key, fence });
  note(input, attempt.kind === 'go' ? 'ok' : 'fail', HISTORY_OPS.attempt, { kind: attempt.kind });
  if (!('operation' in attempt)) return { ended: { kind: attempt.kind } };
  if (attempt.kind !== 'go') return attempt;
  const { tries } = attempt.operation;
  await failPoint('effects.attempted');
  // The process may have stood still since the ledger answered. The row says attempted: whoever comes next reads first.
  if (input.mayCall?.() === false) return { ended: { kind: 'fence-lost' } };

  note(input, 'invoke', HISTORY_OPS.effectCall, { tries });
  testSignal('effects.push.calling', { key, tries });
  const pushed = await pushCommit({
    ...remoteOptions(input),
    ...intent,
    url: input.remoteUrl,
    gitDir: input.gitDir,
  });
  note(
    input,
    pushed.kind === 'unknown' ? 'info' : pushed.kind === 'pushed' ? 'ok' : 'fail',
    HISTORY_OPS.effectCall,
    pushed,
  );
  await failPoint('effects.called');

  switch (pushed.kind) {
    case 'pushed':
      return confirm(input, { source: 'push', report: pushed.report, sha: intent.commitSha });
    case 'refused':
      return ledger.abandoned({ key, tries, detail: pushed.report });
    case 'stale': {
      const trace = await look(input, intent);
      if (trace.kind === 'ours') return confirm(input, { source: 'read', sha: trace.foundSha });
      if (trace.kind === 'other') return conflict(input, tries, intent, trace);
      const detail = `${pushed.report}; ${trace.kind === 'unreadable' ? trace.detail : 'and yet it is where it was'}`;
      return ledger.ambiguous({ key, tries, detail });
    }
    case 'unknown':
      return ledger.ambiguous({ key, tries, detail: pushed.detail });
  }
}

/** Reads until the fate of the last attempt is known: the row as it then stands, or `ambiguous`. */
async function settle(input: PerformPushInput, intent: PushIntent, unknown: Operation): Promise<Step> {
  const { ledger, key, signal, settleMs = SETTLE_MS, wait = waitFor } = input;
  const { tries } = unknown;
  if (unknown.state === 'attempted') {
    const marked = await ledger.ambiguous({ key, tries, detail: 'an earlier attempt left no report' });
    if (!isOperationUnknown(marked.operation.state)) return marked;
  }
  for (;;) {
    if (signal?.aborted === true) {
      return { ended: { kind: 'ambiguous', detail: 'stopped before the outcome was read' } };
    }
    const trace = await look(input, intent);
    testSignal('effects.push.read', { key, trace: trace.kind });
    switch (trace.kind) {
      case 'ours':
        return confirm(input, { source: 'read', sha: trace.foundSha });
      case 'other':
        return conflict(input, tries, intent, trace);
      case 'unreadable':
        return { ended: { kind: 'ambiguous', detail: trace.detail } };
      case 'untouched': {
        const absent = await ledger.absent({
          key,
          tries,
          evidence: { source: 'read', sha: intent.expectedOldSha },
          settleMs,
        });
        if (absent.kind !== 'too-early') return absent;
        await wait(Math.min(Math.max(absent.remainingMs, 1), READ_EVERY_MS), signal);
      }
    }
  }
}

async function look(input: PerformPushInput, intent: PushIntent): Promise<PushTrace> {
  note(input, 'invoke', HISTORY_OPS.effectRead);
  const trace = await lookUpPush(intent, { ...remoteOptions(input), gitDir: input.gitDir });
  note(input, trace.kind === 'unreadable' ? 'info' : 'ok', HISTORY_OPS.effectRead, trace);
  return trace;
}

async function confirm(
  input: PerformPushInput,
  evidence: { readonly source: 'push' | 'read'; readonly report?: string; readonly sha: string },
): Promise<Step> {
  const report = await input.ledger.confirm({
    key: input.key,
    evidence: { ...evidence, ref: input.ref },
    externalId: `${input.ref}@${input.commitSha}`,
    url: input.url ?? null,
  });
  note(input, 'ok', 'operation.confirm', { kind: report.kind, state: report.operation.state });
  await failPoint('effects.confirmed');
  return report;
}

async function conflict(
  input: PerformPushInput,
  tries: number,
  intent: PushIntent,
  trace: PushTrace & { readonly kind: 'other' },
): Promise<Step> {
  return input.ledger.conflicted({ key: input.key, tries, detail: describeConflict(intent, trace.foundSha) });
}

export const describeConflict = (intent: PushIntent, foundSha: string | null): string =>
  `${intent.ref} was expected ${intent.expectedOldSha === null ? 'not to exist' : `at ${intent.expectedOldSha}`} ` +
  `and ${foundSha === null ? 'does not exist' : `is at ${foundSha}`}`;

/** What a settled row means; null while there is still something to do. */
function outcomeOf(operation: Operation, commitSha: string): PerformPushResult | null {
  const detail = operation.detail ?? '';
  switch (operation.state) {
    case 'confirmed':
      return { kind: 'confirmed', sha: commitSha, operation };
    case 'conflicted':
      return { kind: 'conflicted', reasonCode: 'SOURCE_MOVED', detail };
    case 'abandoned':
      return { kind: 'refused', reasonCode: 'EFFECT_FAILED', detail };
    case 'intended':
    case 'absent':
      return null;
    case 'attempted':
    case 'ambiguous':
      // Another report came in between: ask again, and it is read first.
      return { kind: 'ambiguous', detail };
  }
}

function remoteOptions(input: PerformPushInput): RemoteOptions {
  return {
    ...(input.config === undefined ? {} : { config: input.config }),
    ...(input.protocols === undefined ? {} : { protocols: input.protocols }),
    ...(input.signal === undefined ? {} : { signal: input.signal }),
    ...(input.timeoutMs === undefined ? {} : { timeoutMs: input.timeoutMs }),
  };
}

async function waitFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  } catch {
    // Aborted: the caller looks at the signal.
  }
}

function note(
  input: PerformPushInput,
  type: 'invoke' | 'ok' | 'fail' | 'info',
  op: string,
  result?: unknown,
): void {
  const { runId, fencingToken, leaseId } = input.fence;
  record({
    type,
    op,
    run: runId,
    fencingToken,
    leaseId,
    key: input.key,
    ...(result === undefined ? {} : { result }),
  });
}
