/** Which queues a worker joins: those whose profile it offers (Q20, Q21). Pure. */
import { type Capabilities, match, missingInWords, type Policy, type RunSpec } from '@headgate/domain';
import { isLocalRemote } from '@headgate/git';

export interface JoinedQueues {
  readonly joined: readonly string[];
  /** Queue id and what it lacks, for the log. */
  readonly missing: readonly { readonly queue: string; readonly lacks: string }[];
}

/** @param wanted queue ids to join; null: all that can be served. */
export function queuesToJoin(
  policy: Policy,
  offered: Capabilities,
  wanted: readonly string[] | null,
): JoinedQueues {
  const joined: string[] = [];
  const missing: { queue: string; lacks: string }[] = [];
  for (const { id, profile } of policy.queues) {
    if (wanted !== null && !wanted.includes(id)) continue;
    const fit = match(profile, offered);
    if (fit.ok) joined.push(id);
    else missing.push({ queue: id, lacks: missingInWords(fit.missing) });
  }
  return { joined, missing };
}

/**
 * Whether a run holds code that is not ours, so that it needs a sandbox which isolates. Ours is the agent that ships
 * with Headgate; commands of the configuration count as part of the example only where the repository is a folder of
 * this machine.
 */
export function needsIsolation(spec: RunSpec): boolean {
  // One request, made by the worker itself.
  if (spec.observe?.kind === 'http') return false;
  if (!spec.agent.trustedExample) return true;
  const hasCommands = spec.setup.length + spec.verify.length > 0 || spec.observe?.kind === 'command';
  return hasCommands && !(spec.repository !== null && isLocalRemote(spec.repository.url));
}

/** What a worker must offer to run it: what its route requires; isolation, and a network list, where it needs them. */
export const requiredBy = (spec: RunSpec): Capabilities => ({
  ...spec.requires,
  ...(needsIsolation(spec) ? { agentRuns: true } : {}),
  ...(needsNetwork(spec) ? { networkList: true } : {}),
});

const needsNetwork = ({ agent: { network }, setup }: RunSpec): boolean =>
  network !== undefined && (network.agent.length > 0 || (network.setup.length > 0 && setup.length > 0));
