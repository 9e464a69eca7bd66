// One set-up at a time in a clone.
//
// The lock is a folder, because making one is atomic; `owner.json` in it names the holder by pid and start time.
// A holder that died leaves the folder, which the next one moves aside and looks at before it deletes it: if a
// rival was quicker, what it moved is the rival's, and is put back.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onInterrupt } from './children.mjs';

const LOOK_AGAIN_MS = 100;
/** Between making the folder and writing its owner there is a moment; after this long nobody is in it. */
const OWNERLESS_FOR_MS = 5_000;

/** Does `work` while nobody else does, waiting for whoever is. `onWait` is told the holder's pid, once. */
export async function withLock(folder, onWait, work) {
  mkdirSync(dirname(folder), { recursive: true });
  let hasWaited = false;
  while (!tryTake(folder)) {
    const owner = ownerOf(folder);
    if (isStale(folder, owner)) {
      breakLock(folder, owner);
      continue;
    }
    if (!hasWaited && owner) onWait(owner.pid);
    hasWaited = true;
    await delay(LOOK_AGAIN_MS);
  }
  const release = () => rmSync(folder, { recursive: true, force: true });
  const forget = onInterrupt(release);
  try {
    return await work();
  } finally {
    forget();
    release();
  }
}

function tryTake(folder) {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
  writeFileSync(
    join(folder, 'owner.json'),
    JSON.stringify({ pid: process.pid, startedAt: startOf(process.pid) }),
  );
  return true;
}

function isStale(folder, owner) {
  if (owner) return !isAlive(owner);
  try {
    return Date.now() - statSync(folder).mtimeMs > OWNERLESS_FOR_MS;
  } catch {
    return false;
  }
}

function breakLock(folder, judged) {
  const aside = `${folder}.${process.pid}`;
  try {
    renameSync(folder, aside);
    const moved = ownerOf(aside);
    if (moved && JSON.stringify(moved) !== JSON.stringify(judged)) renameSync(aside, folder);
  } catch {
    // A rival broke it first.
  }
  rmSync(aside, { recursive: true, force: true });
}

function ownerOf(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'owner.json'), 'utf8'));
  } catch {
    return null;
  }
}

function isAlive({ pid, startedAt }) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
  return startOf(pid) === startedAt;
}

/** Start time in ticks since boot (field 22 of proc(5)), since pids are reused; null where /proc is not. */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return null;
  }
}
