import { Bubblewrap } from './bubblewrap/bubblewrap.js';
import { Container } from './container.js';
import type { LimitName } from './limits.js';
import { PidNamespace } from './pid-namespace.js';
import type { Probe, SandboxProvider } from './port.js';
import { ProcessGroup } from './process-group.js';

export interface ChosenSandbox {
  readonly provider: SandboxProvider;
  /** Those that were seen to hold here. */
  readonly limits: readonly LimitName[];
  /** What each provider answered, the strongest first: for the worker's log, the console and the doctor. */
  readonly probes: readonly { readonly name: string; readonly probe: Probe }[];
  /** To be shown wherever runs are shown; null when there is nothing to warn of. */
  readonly warning: string | null;
}

/** The strongest provider that works here, found by trying. A fall-back knows what would mend that it is one. */
export async function chooseSandbox(
  candidates: readonly SandboxProvider[] = [
    new Bubblewrap(),
    new Container(),
    new PidNamespace(),
    new ProcessGroup(),
  ],
): Promise<ChosenSandbox> {
  const probes: { name: string; probe: Probe }[] = [];
  let remedy: string | null = null;
  for (const provider of candidates) {
    const probe = await provider.probe();
    probes.push({ name: provider.name, probe });
    if (probe.kind === 'available') {
      if (!provider.mayRunUntrusted && remedy !== null) provider.remedy = remedy;
      return { provider, limits: probe.limits, probes, warning: warningFor(provider) };
    }
    if (provider.mayRunUntrusted) remedy ??= probe.remedy;
  }
  throw new Error(`no sandbox works here: ${JSON.stringify(probes)}`);
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
