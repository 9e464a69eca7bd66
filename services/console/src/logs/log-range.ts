/**
 * A stretch of a log, by bytes. A log may have 100 MB and may grow while it is read, so nobody reads it whole: a page
 * asks forwards from a place, or backwards from one, and gets whole lines. Nothing is kept between two answers.
 */
import type { FileHandle } from 'node:fs/promises';
import { textOf } from './log-text.js';

export interface Stretch {
  readonly offset: number;
  readonly nextOffset: number;
  readonly text: string;
}

const NEWLINE = 0x0a;

/** From `offset` on: up to the last line that ends within `limit` bytes. */
export async function readForwards(
  handle: FileHandle,
  asked: {
    readonly offset: number;
    readonly limit: number;
    readonly bytes: number;
    readonly isComplete: boolean;
  },
): Promise<Stretch> {
  const start = Math.min(asked.offset, asked.bytes);
  const read = await readBytes(handle, start, Math.min(asked.limit, asked.bytes - start));
  const from = start === 0 ? 0 : continuationsAtStart(read);
  const reachesEnd = start + read.length >= asked.bytes;
  const to = reachesEnd && asked.isComplete ? read.length : endOfLines(read, from);
  return stretch(start, read, from, to);
}

/** Up to `before`: from the first line that begins within `limit` bytes of it. */
export async function readBackwards(
  handle: FileHandle,
  asked: { readonly before: number; readonly limit: number; readonly bytes: number },
): Promise<Stretch> {
  const end = Math.min(asked.before, asked.bytes);
  const start = Math.max(0, end - asked.limit);
  // One byte more, to see whether a line begins right there.
  const lead = start === 0 ? 0 : 1;
  const read = await readBytes(handle, start - lead, end - start + lead);
  return stretch(start - lead, read, lead === 0 ? 0 : startOfLine(read), read.length);
}

async function readBytes(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    // It was cut meanwhile.
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

const stretch = (at: number, read: Buffer, from: number, to: number): Stretch => ({
  offset: at + from,
  nextOffset: at + to,
  text: textOf(read.subarray(from, to)),
});

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Bytes that belong to a character before them. */
function continuationsAtStart(read: Buffer): number {
  let at = 0;
  while (at < 3 && isContinuation(read[at])) at += 1;
  return at;
}

/** Behind the last newline; a line longer than the whole stretch is cut between two characters. */
function endOfLines(read: Buffer, from: number): number {
  const newline = read.lastIndexOf(NEWLINE);
  if (newline >= from) return newline + 1;
  return endOfCharacters(read);
}

/** So that no character is cut in two. */
function endOfCharacters(read: Buffer): number {
  let lead = read.length - 1;
  while (lead > read.length - 4 && isContinuation(read[lead])) lead -= 1;
  const byte = read[lead];
  if (byte === undefined) return read.length;
  const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  return lead + length > read.length ? lead : read.length;
}

/** Behind the first newline; without one, at the first whole character. */
function startOfLine(read: Buffer): number {
  const newline = read.indexOf(NEWLINE);
  if (newline >= 0 && newline + 1 < read.length) return newline + 1;
  return 1 + continuationsAtStart(read.subarray(1));
}
