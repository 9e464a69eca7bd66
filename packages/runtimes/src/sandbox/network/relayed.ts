/** From a specification with a proxy's socket to one whose command runs below the relay. */
import { programFiles } from '../allow-list.js';
import { builtProgram } from '../built-program.js';
import type { SandboxSpec } from '../port.js';

/** Unchanged where there is no network to reach. */
export function relayed(spec: SandboxSpec): SandboxSpec {
  if (spec.proxySocket === undefined) return spec;
  const relay = builtProgram('network/relay.mjs');
  const files = spec.files ?? { writable: [], readOnly: [spec.cwd], scratch: [] };
  return {
    ...spec,
    argv: [process.execPath, relay, spec.proxySocket, ...spec.argv],
    files: {
      ...files,
      readOnly: [...files.readOnly, ...programFiles(spec.argv), relay, spec.proxySocket],
    },
  };
}
