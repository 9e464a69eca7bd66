/** Which of a sandbox's processes is the command, where another sandbox lies between it and our init. */
import { readFileSync } from 'node:fs';
import { childrenOf, identify, type ProcessIdentity } from '../process-identity.js';

/** The library's bubblewrap makes a PID namespace, and its filter another. */
const NAMESPACES_BETWEEN = 2;

/** null while it does not run yet. */
export function innermostCommand(init: ProcessIdentity): ProcessIdentity | null {
  const depth = pidsOf(init.pid).length + NAMESPACES_BETWEEN;
  for (let pid: number | undefined = init.pid; pid !== undefined; pid = carrierOf(pid)) {
    const pids = pidsOf(pid);
    // The namespace's own init is the filter's, and keeps signals to itself.
    if (pids.length === depth && pids.at(-1) !== 1) return identify(pid);
  }
  return null;
}

/** Between init and the command each has one child that lasts, and it is the first. */
const carrierOf = (pid: number): number | undefined => childrenOf(pid)[0];

/** Its number in each PID namespace that it is in, the outermost first. */
function pidsOf(pid: number): readonly number[] {
  try {
    const line = /^NSpid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return line?.trim().split(/\s+/).map(Number) ?? [];
  } catch {
    return [];
  }
}
