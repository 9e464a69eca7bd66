/**
 * The reconciler's part: operations whose run has ended while their outcome was unknown. Reads only, never a
 * call; without the run's lease nobody may call.
 */
import type { Operation, OperationLedger, ReportResult } from '@headgate/domain';
import { isOperationUnknown } from '@headgate/domain';
import { HISTORY_OPS, record } from '@headgate/telemetry';
import { readPushIntent } from './intent.js';
import { type LookupOptions, lookUpPush } from './lookup.js';
import { describeConflict, SETTLE_MS } from './perform.js';

export interface ResolveInput extends LookupOptions {
  readonly ledger: OperationLedger;
  readonly operation: Operation;
  readonly settleMs?: number;
  /** The remote's address with what is needed to read it, when the stored one lacks credentials. */
  readonly remoteUrl?: string;
}

export type ResolveResult =
  | { readonly kind: 'resolved'; readonly operation: Operation }
  /** Nothing is there yet, and the window is still open. */
  | { readonly kind: 'too-early'; readonly remainingMs: number }
  | { readonly kind: 'unreadable'; readonly detail: string }
  /** It was settled before, or was never called. */
  | { readonly kind: 'not-ambiguous'; readonly operation: Operation };

export async function resolveAmbiguous(input: ResolveInput): Promise<ResolveResult> {
  const { ledger, operation, settleMs = SETTLE_MS, remoteUrl, ...options } = input;
  const { key, tries } = operation;
  if (!isOperationUnknown(operation.state)) return { kind: 'not-ambiguous', operation };
  const stored = readPushIntent(operation);
  if (stored === null) return { kind: 'unreadable', detail: 'the stored intent is not one of a push' };
  const intent = remoteUrl === undefined ? stored : { ...stored, remoteUrl };

  if (operation.state === 'attempted') {
    const marked = await ledger.ambiguous({
      key,
      tries,
      detail: 'the run ended without a report of its call',
    });
    if (!isOperationUnknown(marked.operation.state)) {
      return { kind: 'not-ambiguous', operation: marked.operation };
    }
  }
  const reading = { op: HISTORY_OPS.effectRead, run: operation.runId, key } as const;
  record({ ...reading, type: 'invoke' });
  const trace = await lookUpPush(intent, options);
  record({ ...reading, type: trace.kind === 'unreadable' ? 'info' : 'ok', result: trace });
  switch (trace.kind) {
    case 'unreadable':
      return { kind: 'unreadable', detail: trace.detail };
    case 'ours': {
      const evidence = { source: 'read', sha: trace.foundSha, ref: intent.ref };
      const externalId = `${intent.ref}@${intent.commitSha}`;
      return resolvedBy(await ledger.confirm({ key, evidence, externalId, url: operation.url }));
    }
    case 'other': {
      const detail = describeConflict(intent, trace.foundSha);
      return resolvedBy(await ledger.conflicted({ key, tries, detail }));
    }
    case 'untouched': {
      const evidence = { source: 'read', sha: intent.expectedOldSha };
      const report = await ledger.absent({ key, tries, evidence, settleMs });
      return report.kind === 'too-early'
        ? { kind: 'too-early', remainingMs: report.remainingMs }
        : resolvedBy(report);
    }
  }
}

/** Two may read at once; only the one whose report was written has resolved it. */
const resolvedBy = ({ kind, operation }: ReportResult): ResolveResult =>
  kind === 'written' ? { kind: 'resolved', operation } : { kind: 'not-ambiguous', operation };
