/** How a watermark stands after a look that was dealt with. Pure. */
import type { ReasonCode, Signal } from '@headgate/domain';
import type { SettledLook, WatermarkRow } from '@headgate/store';
import { isQuietReceiptDue } from './nothing-found.js';
import type { Looked } from './settle-look.js';
import type { ScanTarget } from './targets.js';

export interface Dealt {
  readonly row: WatermarkRow;
  readonly look: Looked;
  readonly target: ScanTarget;
  readonly wanted: readonly Signal[];
  /** Of `wanted`, in its order. */
  readonly codes: readonly ReasonCode[];
  readonly brought: number;
  readonly hasMore: boolean;
}

/** A hook may be this late without being silent. */
const HOOK_GRACE_MS = 120_000;
const SOON_MS = 1_000;

export function standingAfter(dealt: Dealt): { readonly settledLook: SettledLook; readonly silent: number } {
  const { row, look, target, wanted, hasMore } = dealt;
  const isWhole = look.isWhole && !hasMore;
  const limitedMs = look.until === null ? 0 : look.until.getTime() - row.now.getTime();
  const silent = silentAmong(dealt);
  // A hook that brought something is heard again.
  const isHeard = silent === 0 && dealt.brought > 0;
  const isTold = wanted.length > 0 || isQuietReceiptDue(row);
  return {
    silent,
    settledLook: {
      nextAfterMs: hasMore ? SOON_MS : Math.max(target.scan.everyMs, limitedMs),
      lookedAt: isWhole ? row.now : null,
      // Answers whose facts were not all dealt with must be given whole again.
      validators: isWhole ? look.validators : row.validators,
      detail: look.detail,
      quietSince: isTold ? row.now : (row.quietSince ?? row.now),
      quietLooks: isTold ? 0 : row.quietLooks + 1,
      silentSince: isHeard ? null : silent > 0 ? (row.silentSince ?? row.now) : row.silentSince,
      silentCount: isHeard ? 0 : row.silentCount + silent,
      silentFact: isHeard ? null : (lastSilent(dealt)?.eventId ?? null),
    },
  };
}

/** A hook brought it meanwhile, or it is our own push, which leaves no work behind that would show what a hook told. */
const NOT_MISSED: ReadonlySet<ReasonCode> = new Set([
  'DUPLICATE_WORK',
  'DUPLICATE_DELIVERY',
  'SELF_TRIGGERED',
]);

const silentOnes = ({ row, target, wanted, codes }: Dealt): readonly Signal[] => {
  if (target.scan.via !== 'scan') return [];
  return wanted.filter(({ emittedAt }, at) => {
    const isLate = emittedAt !== null && row.now.getTime() - emittedAt.getTime() > HOOK_GRACE_MS;
    const code = codes[at];
    return isLate && (code === undefined || !NOT_MISSED.has(code));
  });
};

const silentAmong = (dealt: Dealt): number => silentOnes(dealt).length;
const lastSilent = (dealt: Dealt): Signal | undefined => silentOnes(dealt).at(-1);
