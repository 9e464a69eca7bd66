/** A place in the stream as its clients carry it: `{incarnation}.{xid}.{event}`. */
import { type EventId, formatId, parseId } from '@headgate/domain';
import type { FeedPosition } from '@headgate/store';

export const writePlace = ({ incarnation, xid, id }: FeedPosition): string =>
  `${incarnation.replaceAll('-', '')}.${xid}.${formatId('evt', id)}`;

/** Null: it is none of ours. */
export function readPlace(text: string): FeedPosition | null {
  const [, hex = '', xid = '', event = ''] =
    /^([0-9a-f]{32})\.(\d{1,20})\.(evt_[0-9a-z]{26})$/.exec(text) ?? [];
  const id: EventId | null = parseId('evt', event);
  if (id === null) return null;
  const incarnation = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { incarnation, xid, id };
}

/** Whether `a` stands before `b` in the same incarnation. */
export function isBefore(a: FeedPosition, b: FeedPosition): boolean {
  const [x, y] = [BigInt(a.xid), BigInt(b.xid)];
  return x < y || (x === y && a.id < b.id);
}
