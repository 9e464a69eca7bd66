/** Ending a sandbox by its identity: from the lease keeper's thread, or by the sweep after a worker died. */
import { MARKER_VARIABLE, type SandboxIdentity } from './port.js';
import { processesWith, signalProcess } from './process-identity.js';

/** Each pass may meet processes that were just being forked. */
const PASSES = 20;

/**
 * SIGKILLs the sandbox and everything that carries its marker. Synchronous and free of shared state, so any
 * thread may call it. Gives how many processes were met.
 */
export function endSandbox(identity: SandboxIdentity): number {
  let ended = 0;
  for (const target of identity.processes) if (signalProcess(target, 'SIGKILL')) ended += 1;
  return ended + endMarked(identity.marker);
}

/** SIGKILLs every process started with the marker in its environment. */
export function endMarked(marker: string): number {
  let ended = 0;
  for (let pass = 0; pass < PASSES; pass += 1) {
    const found = processesWith(MARKER_VARIABLE, marker).filter((target) => target.pid !== process.pid);
    if (found.length === 0) return ended;
    for (const target of found) if (signalProcess(target, 'SIGKILL')) ended += 1;
  }
  return ended;
}
