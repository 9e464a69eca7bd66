import { Bubblewrap } from './bubblewrap/bubblewrap.js';
import { Container } from './container.js';
import type { LimitName } from './limits.js';
import { PidNamespace } from './pid-namespace.js';
import type { Probe, SandboxProvider } from './port.js';
import { ProcessGroup } from './process-group.js';
import { SandboxRuntime } from './sandbox-runtime/sandbox-runtime.js';

/** What one provider answered. */
export interface ProbedSandbox {
  readonly name: string;
  readonly hasNetworkList: boolean;
  readonly probe: Probe;
}

export interface ChosenSandbox {
  readonly provider: SandboxProvider;
  /** Those that were seen to hold here. */
  readonly limits: readonly LimitName[];
  /** What each that was tried answered, in that order: for the worker's log, the console and the doctor. */
  readonly probes: readonly ProbedSandbox[];
  /** To be shown wherever runs are shown; null when there is nothing to warn of. */
  readonly warning: string | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Not HEADGATE_SANDBOX: that one marks the processes of a sandbox. */
const PROVIDER_VARIABLE = 'HEADGATE_SANDBOX_PROVIDER';
const IMAGE_VARIABLE = 'HEADGATE_SANDBOX_IMAGE';

/** The strongest provider that works here, found by trying. A fall-back knows what would mend that it is one. */
export async function chooseSandbox(
  candidates: readonly SandboxProvider[] = sandboxCandidates(process.env),
): Promise<ChosenSandbox> {
  const probes: ProbedSandbox[] = [];
  let remedy: string | null = null;
  for (const provider of candidates) {
    const probe = await provider.probe();
    probes.push({ name: provider.name, hasNetworkList: provider.hasNetworkList, probe });
    if (probe.kind === 'available') {
      if (!provider.mayRunUntrusted && remedy !== null) provider.remedy = remedy;
      return { provider, limits: probe.limits, probes, warning: warningFor(provider) };
    }
    if (provider.mayRunUntrusted) remedy ??= probe.remedy;
  }
  throw new Error(`no sandbox works here: ${JSON.stringify(probes)}`);
}

/**
 * What is tried, in this order. Where a provider is asked for by name no other isolating one takes its place: without
 * it only the example agent runs. Throws a RangeError with a sentence for people when the name is none.
 */
export function sandboxCandidates(env: Environment): readonly SandboxProvider[] {
  const isolating = isolatingSandboxes(env);
  const fallBacks = [new PidNamespace(), new ProcessGroup()];
  const asked = env[PROVIDER_VARIABLE] ?? '';
  if (asked === '' || asked === 'auto') return [...isolating, ...fallBacks];
  const provider = isolating.find(({ name }) => name === asked);
  if (provider === undefined) {
    const names = isolating.map(({ name }) => name).join(', ');
    throw new RangeError(`${PROVIDER_VARIABLE} is "${asked}": write auto, or one of ${names}`);
  }
  return [provider, ...fallBacks];
}

/** Tries those isolating providers too that the choice did not come to: for the doctor. */
export async function probeOtherSandboxes(
  chosen: ChosenSandbox,
  env: Environment = process.env,
): Promise<readonly ProbedSandbox[]> {
  const tried = new Set(chosen.probes.map(({ name }) => name));
  const others = isolatingSandboxes(env).filter(({ name }) => !tried.has(name));
  const probes: ProbedSandbox[] = [];
  for (const provider of others) {
    const probe = await provider.probe();
    probes.push({ name: provider.name, hasNetworkList: provider.hasNetworkList, probe });
  }
  return probes;
}

function isolatingSandboxes(env: Environment): readonly SandboxProvider[] {
  const image = env[IMAGE_VARIABLE] ?? '';
  return [new Bubblewrap(), new SandboxRuntime(), new Container(image === '' ? {} : { image })];
}

function warningFor(provider: SandboxProvider): string | null {
  const mend = provider.remedy === undefined ? '' : ` To mend it: ${provider.remedy}`;
  switch (provider.isolation) {
    case 'bubblewrap':
    case 'sandbox-runtime':
    case 'container':
      return null;
    case 'pid-namespace':
      return `Agents are not isolated from files and network here: only the example agent may run.${mend}`;
    case 'none':
      return `Agents are not isolated here, and a runaway one may survive its run: only the example agent may run.${mend}`;
  }
}
