/** The receipt of a look that found nothing (I9): one for a quiet time, not one for each look. */
import type { Submission } from '@headgate/admission';
import type { Signal } from '@headgate/domain';
import { gitRepositoryId } from '@headgate/sources';
import type { WatermarkRow } from '@headgate/store';
import type { ScanTarget } from './targets.js';

const QUIET_RECEIPT_EVERY_MS = 300_000;

export const isQuietReceiptDue = ({ quietSince, now }: WatermarkRow): boolean =>
  quietSince === null || now.getTime() - quietSince.getTime() >= QUIET_RECEIPT_EVERY_MS;

export function nothingFound(
  row: WatermarkRow,
  { source, repository, scan }: ScanTarget,
): readonly Submission[] {
  if (!isQuietReceiptDue(row)) return [];
  const looks = row.quietLooks + 1;
  const detail =
    row.lookedAt === null
      ? `${repository.fullName} was looked at for the first time; what was there before is no news.`
      : `${repository.fullName} was looked at ${looks === 1 ? 'once' : `${looks} times`} and nothing is new.`;
  const signal: Signal = {
    source: source.id,
    eventId: `look/${repository.fullName}/${row.version + 1}`,
    type: `${source.kind}.look`,
    trigger: 'event',
    via: scan.via,
    hookId: null,
    subject: repository.fullName,
    emittedAt: null,
    receivedAt: row.now,
    actor: null,
    repository: {
      externalId: gitRepositoryId(repository.url),
      fullName: repository.fullName,
      defaultBranch: repository.defaultBranch,
    },
    target: null,
    inputVersion: null,
    sourceAt: null,
    parentVersions: [],
    data: null,
    traceparent: null,
  };
  const verdict = { outcome: 'no-work', reasonCode: 'NOTHING_FOUND', detail, retryAfter: null } as const;
  return [{ signal, tenant: source.tenant, payload: null, verdict, watermark: row.now.toISOString() }];
}
