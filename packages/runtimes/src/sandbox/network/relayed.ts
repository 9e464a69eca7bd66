/** From a specification with a proxy's socket to one whose command runs below the relay. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { programFiles } from '../allow-list.js';
import type { SandboxSpec } from '../port.js';

/** Unchanged where there is no network to reach. */
export function relayed(spec: SandboxSpec): SandboxSpec {
  if (spec.proxySocket === undefined) return spec;
  const relay = relayProgram();
  if (relay === null) throw new Error('the relay is not built; run the build first');
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

/** Plain JavaScript beside this file when we run built, in `dist` when we run from source. */
function relayProgram(): string | null {
  for (const place of ['./relay.mjs', '../../../dist/sandbox/network/relay.mjs']) {
    const file = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(file)) return file;
  }
  return null;
}
