import { PidNamespace } from './pid-namespace.js';
import type { Probe, SandboxProvider } from './port.js';
import { ProcessGroup } from './process-group.js';

export interface ChosenSandbox {
  readonly provider: SandboxProvider;
  /** What each provider answered, the strongest first: for the worker's log, the console and the doctor. */
  readonly probes: readonly { readonly name: string; readonly probe: Probe }[];
  /** To be shown wherever runs are shown; null when there is nothing to warn of. */
  readonly warning: string | null;
}

/** The strongest provider that works here, found by trying. */
export async function chooseSandbox(
  candidates: readonly SandboxProvider[] = [new PidNamespace(), new ProcessGroup()],
): Promise<ChosenSandbox> {
  const probes: { name: string; probe: Probe }[] = [];
  for (const provider of candidates) {
    const probe = await provider.probe();
    probes.push({ name: provider.name, probe });
    if (probe.kind === 'available') return { provider, probes, warning: warningFor(provider) };
  }
  throw new Error(`no sandbox works here: ${JSON.stringify(probes)}`);
}

function warningFor(provider: SandboxProvider): string | null {
  switch (provider.isolation) {
    case 'bubblewrap':
      return null;
    case 'pid-namespace':
      return 'Agents are not isolated from files and network here: only the example agent may run.';
    case 'none':
      return 'Agents are not isolated here, and a runaway one may survive its run: only the example agent may run.';
  }
}
