/**
 * What the sources would have told in some days, looked for at the sources themselves and decided in memory. It needs
 * no receipts and no instance: nothing was ever received. Nothing is written, not even that it was looked.
 */
import type { Arrival } from '@headgate/admission';
import type { Policy, Signal } from '@headgate/domain';
import { judgeSignal } from '@headgate/sources';
import type { ActiveFacts } from './active.js';
import { lookAll, type PolicyFile } from './look-all.js';
import { reportOf, type SimulationReport } from './report.js';

export interface ForgeQuestion {
  readonly sinceMs: number;
  /** Null: no instance was there to ask, or no policy is active. */
  readonly facts: ActiveFacts | null;
  /** Where `file:` references of the active policy start. */
  readonly activePath: string;
  readonly other: PolicyFile | null;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: Date;
  /** Told before each repository. */
  readonly onLook: (name: string) => void;
}

export async function simulateForge(question: ForgeQuestion): Promise<SimulationReport> {
  const { facts, other, activePath, env, sinceMs, onLook } = question;
  const until = facts?.until ?? question.now;
  const since = new Date(until.getTime() - sinceMs);
  // What a person tries out tells best how its sources are asked: its own sources come first.
  const files: PolicyFile[] = [
    ...(other === null ? [] : [other]),
    ...(facts === null ? [] : [{ path: activePath, policy: facts.active.policy }]),
  ];
  const { signals, looks } = await lookAll({ files, since, until, env, onLook });
  const arrivals = (policy: Policy): readonly Arrival[] =>
    signals.map((signal) => ({ at: signal.receivedAt, submission: submissionOf(signal, policy, files) }));
  return reportOf({
    from: 'forge',
    since,
    until,
    active: facts?.active ?? null,
    other: other?.policy ?? null,
    estimates: facts?.estimates ?? [],
    lost: 0,
    looks,
    arrivals,
  });
}

/** As a look submits it; one of a source that only the other policy has is still read. */
function submissionOf(signal: Signal, policy: Policy, files: readonly PolicyFile[]): Arrival['submission'] {
  const sources = [...policy.sources, ...files.flatMap((file) => file.policy.sources)];
  const source = sources.find(({ id }) => id === signal.source);
  return {
    signal,
    tenant: source?.tenant ?? 'default',
    payload: null,
    verdict: source === undefined ? null : judgeSignal(source, signal),
  };
}
