/** Pull requests of ours that were closed, merged or opened again, and default branches that moved, as signals tell. */

import { publicationNewsOf } from '@headgate/sources';
import {
  type ActivePolicy,
  type Connection,
  type PublicationChange,
  publicationPlaces,
} from '@headgate/store';
import { tenantIdOf } from './batch-context.js';
import type { Prepared } from './prepare.js';

export async function tellPublications(
  c: Connection,
  batch: readonly Prepared[],
  active: ActivePolicy,
): Promise<void> {
  const news = batch.flatMap((prepared) => {
    const { candidate, isWake, submission } = prepared;
    const isNews = !candidate.isFurtherRoute && !isWake && submission.replays == null;
    const told = isNews ? publicationNewsOf(candidate.signal) : null;
    if (told === null) return [];
    const { receiptId } = candidate;
    return [{ kind: told.kind, taskId: told.taskId, tenantId: tenantIdOf(prepared, active), receiptId }];
  });
  const last = [...new Map(news.map((one) => [one.taskId, one])).values()];
  const of = (kind: 'ended' | 'reopened'): readonly PublicationChange[] =>
    last.filter((one) => one.kind === kind);
  await Promise.all([publicationPlaces.end(c, of('ended')), publicationPlaces.reopen(c, of('reopened'))]);
}
