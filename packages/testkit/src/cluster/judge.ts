/** The verdict on what a cluster has done: history, final rows and the forge's own log against the invariants. */
import { TRANSITIONS } from '@headgate/domain';
import type { Pool } from 'pg';
import { checkHistory, describeReport } from '../checker/check.js';
import { loadFinalState } from '../checker/load-final-state.js';
import type {
  Baseline,
  CheckerInput,
  CheckerSettings,
  CheckReport,
  InvariantId,
  Snapshot,
} from '../checker/model.js';
import { INVARIANTS } from '../checker/model.js';
import { readHistory } from '../checker/read-history.js';
import type { BareRepository } from '../github/bare-repository.js';
import { providerLog } from './forge-log.js';

export interface JudgeOptions {
  /** These must hold: a run that did not put one of them to the test fails too. All others must not be violated. */
  readonly mustHold?: readonly InvariantId[];
  readonly settings?: Partial<CheckerSettings>;
  readonly baseline?: Baseline | null;
  /** Default true: `settle` came first. */
  readonly quiescent?: boolean;
}

export interface JudgedCluster {
  readonly report: CheckReport;
  readonly input: CheckerInput;
}

export async function gather(
  parts: {
    readonly pool: Pool;
    readonly forge: BareRepository;
    readonly historyDir: string;
    readonly snapshots: readonly Snapshot[];
  },
  options: JudgeOptions,
): Promise<CheckerInput> {
  const client = await parts.pool.connect();
  try {
    const state = await loadFinalState(client);
    return {
      ...state,
      history: readHistory(parts.historyDir),
      providerLog: await providerLog(parts.forge, client),
      transitions: TRANSITIONS,
      snapshots: parts.snapshots,
      quiescent: options.quiescent ?? true,
      baseline: options.baseline ?? null,
    };
  } finally {
    client.release();
  }
}

/** Throws with the findings when an invariant is violated, or one of `mustHold` was not put to the test. */
export function judge(input: CheckerInput, options: JudgeOptions): JudgedCluster {
  const report = checkHistory(input, options.settings, INVARIANTS);
  const untested = (options.mustHold ?? []).filter((id) => report.witnessed[id]?.verdict !== 'holds');
  if (report.findings.length > 0 || untested.length > 0) {
    const asked = untested.length > 0 ? `\nnot shown to hold: ${untested.join(', ')}` : '';
    throw new Error(`${describeReport(report)}${asked}`);
  }
  return { report, input };
}
