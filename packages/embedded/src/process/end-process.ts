import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, type ProcessIdentity, sendSignal } from './identity.js';

/** How long a server may take to stop when asked before it is killed. */
const GRACE_MS = 10_000;
const KILL_WAIT_MS = 5_000;
const LOOK_AGAIN_MS = 20;

/** Asks a process to stop, then kills it. Returns once it is gone. */
export async function endProcess(
  who: Pick<ProcessIdentity, 'pid' | 'startedAt'>,
  stopSignal: NodeJS.Signals,
  graceMs = GRACE_MS,
): Promise<void> {
  sendSignal(who.pid, stopSignal);
  // One that was stopped (SIGSTOP) acts on the signal only once it runs again.
  sendSignal(who.pid, 'SIGCONT');
  if (await isGoneWithin(who, graceMs)) return;
  sendSignal(who.pid, 'SIGKILL');
  await isGoneWithin(who, KILL_WAIT_MS);
}

async function isGoneWithin(
  who: Pick<ProcessIdentity, 'pid' | 'startedAt'>,
  withinMs: number,
): Promise<boolean> {
  const giveUpAtMs = performance.now() + withinMs;
  while (isAlive(who)) {
    if (performance.now() >= giveUpAtMs) return false;
    await delay(LOOK_AGAIN_MS);
  }
  return true;
}
