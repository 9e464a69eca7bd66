/**
 * Who a command is outside its sandbox. A worker that is root gives each attempt a user id that nobody has, so that an
 * attempt owns nothing but its own folders and limits on processes count it alone; an ordinary user can only be
 * itself.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Beyond what systemd and container tools hand out, and below where signed 32-bit numbers end. */
const FIRST_ID = 0x7000_0000;
const ID_COUNT = 2 ** 24;
/** `nobody`: where the user namespace that we are in has no more ids. */
const FALL_BACK_ID = 65_534;

/** Inside, whoever it is outside. */
export const INNER_ID = 1_000;

/** The user and group id for the attempt; null for the worker's own. */
export function sandboxUserId(marker: string): number | null {
  if (process.getuid?.() !== 0) return null;
  return isEveryIdMapped() ? userIdOf(marker) : FALL_BACK_ID;
}

/** The same for all commands of an attempt: files of one are the next one's own. */
export function userIdOf(marker: string): number {
  return FIRST_ID + (createHash('sha256').update(marker).digest().readUInt32BE(0) % ID_COUNT);
}

/** Whether ids up to the last of ours exist in a map of /proc (`inside outside count` a line). */
export function mapsEveryId(map: string): boolean {
  return map.split('\n').some((line) => {
    const [inside = Number.NaN, , count = Number.NaN] = line.trim().split(/\s+/).map(Number);
    return inside <= FIRST_ID && FIRST_ID + ID_COUNT <= inside + count;
  });
}

function isEveryIdMapped(): boolean {
  try {
    return ['uid_map', 'gid_map'].every((name) => mapsEveryId(readFileSync(`/proc/self/${name}`, 'utf8')));
  } catch {
    return false;
  }
}
