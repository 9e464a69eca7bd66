/**
 * zod's error callbacks return one string; a problem has two sentences (what is wrong, what to do), and
 * unknown keys make several at once. They travel through zod as JSON behind a mark.
 */
import type { z } from 'zod';
import type { Complaint } from '../problems/index.js';

const MARK = '\u0000';

/** A complaint about one unknown key is placed at the key, not at its map. */
export interface KeyComplaint extends Complaint {
  readonly key?: string;
  /** The key belongs to a later version: that alone is the news about its map. */
  readonly isLater?: boolean;
}

export const encode = (complaints: readonly KeyComplaint[]): string => MARK + JSON.stringify(complaints);

/** Null: not one of ours, zod's own sentence. */
export function decode(message: string): readonly KeyComplaint[] | null {
  return message.startsWith(MARK)
    ? (JSON.parse(message.slice(MARK.length)) as readonly KeyComplaint[])
    : null;
}

export const say = (message: string, fix: string): string => encode([{ message, fix }]);

/** For `.superRefine`: one complaint, at `path` below the value. */
export function complain(
  context: z.core.$RefinementCtx,
  complaint: Complaint,
  path: (string | number)[] = [],
): void {
  context.addIssue({ code: 'custom', message: encode([complaint]), path });
}

/** A file of a version that this one does not read: of the future, or none at all. */
export const otherVersion = (written: unknown): string =>
  typeof written === 'number' && Number.isInteger(written) && written > 1
    ? say(
        `version ${written} is of a newer Headgate; this one reads version 1`,
        'Upgrade this process, or write the file for version 1.',
      )
    : say(`version ${JSON.stringify(written)} is not known`, 'Write version: 1.');
