import type { ReasonCode, TargetRef } from '@headgate/domain';
import { isCommitId } from '../github/fields.js';
import { CONTENT_PREFIX } from '../github/reading.js';
import type { HeadReading } from './reader.js';

export interface FreshnessQuestion {
  readonly target: TargetRef | null;
  readonly inputVersion: string;
  /** The result is sealed: only the target's life counts; a moved head is left to compare-and-set. */
  readonly isSealed?: boolean;
}

export type Freshness =
  | { readonly kind: 'fresh' }
  | {
      readonly kind: 'stale';
      readonly reasonCode: Extract<ReasonCode, 'STALE_INPUT' | 'TARGET_CLOSED'>;
      readonly detail: string;
    }
  /** Defer; no attempt is charged. */
  | {
      readonly kind: 'unavailable';
      readonly reasonCode: Extract<ReasonCode, 'SOURCE_UNAVAILABLE' | 'SOURCE_DISAGREES'>;
      readonly detail: string;
    };

/**
 * Is there still something to do for this version (I6)? Pure.
 *
 * Only a version that is a commit can be compared with a head. Others (the content of an issue, a comment, a
 * nominal time, an event) are fresh for as long as their target is there.
 */
export function freshness(run: FreshnessQuestion, head: HeadReading): Freshness {
  switch (head.kind) {
    case 'unavailable':
      return { kind: 'unavailable', reasonCode: 'SOURCE_UNAVAILABLE', detail: head.detail };
    case 'disagrees':
      return { kind: 'unavailable', reasonCode: 'SOURCE_DISAGREES', detail: head.detail };
    case 'changed':
      if (run.isSealed) return { kind: 'fresh' };
      return { kind: 'stale', reasonCode: 'STALE_INPUT', detail: head.detail };
    case 'issue': {
      const isContent = run.inputVersion.startsWith(CONTENT_PREFIX);
      if (run.isSealed || !isContent || head.contentVersion === run.inputVersion) return { kind: 'fresh' };
      const detail = `${nameOf(run.target)} was edited since the signal.`;
      return { kind: 'stale', reasonCode: 'STALE_INPUT', detail };
    }
    case 'closed':
      return { kind: 'stale', reasonCode: 'TARGET_CLOSED', detail: head.reason };
    case 'gone':
      return {
        kind: 'stale',
        reasonCode: 'TARGET_CLOSED',
        detail: head.detail ?? `${nameOf(run.target)} is gone.`,
      };
    case 'head':
      if (run.isSealed || !isCommitId(run.inputVersion) || head.sha === run.inputVersion) {
        return { kind: 'fresh' };
      }
      return {
        kind: 'stale',
        reasonCode: 'STALE_INPUT',
        detail: `${nameOf(run.target)} stands at ${head.sha}, the signal was about ${run.inputVersion}.`,
      };
  }
}

function nameOf(target: TargetRef | null): string {
  switch (target?.kind) {
    case 'pull_request':
      return `The head of pull request ${target.id}`;
    case 'branch':
      return `The branch ${target.id}`;
    case 'issue':
      return `The issue ${target.id}`;
    default:
      return 'The default branch';
  }
}
