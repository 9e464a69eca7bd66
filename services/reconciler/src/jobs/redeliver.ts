/**
 * Deliveries that failed at GitHub are asked for again, within its three days, each so often at most.
 *
 * A help only: what is found by looking is admitted without them. Who may write: any number of reconcilers. A hook's
 * log is claimed like a repository (a watermark of its own), so one reads it at a time. The row of a redelivery is
 * written before GitHub is asked and says no when its tries are used up or the last is young.
 *  - Crash before the row: nothing happened. Crash between row and call, or a call without an answer: a try is used up;
 *    the next is made when the pause is over and the log still shows no success. A call that GitHub refused (a limit, a
 *    right that the App lacks) has asked nothing: its try is given back, and the turn at this log ends.
 *  - Asked twice after all: the delivery has the same GUID, and its second arrival is DUPLICATE_DELIVERY.
 *  - A delivery that GitHub calls failed and that was received all the same (answered too late) is left alone.
 */
import { randomUUID } from 'node:crypto';
import type { SourcePolicy } from '@headgate/domain';
import {
  deliveriesPath,
  type FailedDelivery,
  type GithubFailure,
  type HookPlace,
  readFailedDeliveries,
  readHooks,
  readOrganizationHooks,
  redeliveryRights,
  repositoryOfHook,
} from '@headgate/sources';
import { deliveries, redeliveries, type WatermarkKey, type WatermarkRow, watermarks } from '@headgate/store';
import { failPoint, metrics } from '@headgate/telemetry';
import { z } from 'zod';
import type { Job, JobParts } from '../job.js';
import { listensToEvent } from '../scan/targets.js';

const EVERY_MS = 300_000;
const CLAIM_MS = 300_000;
/** Of one log in one turn: GitHub is asked one by one. */
const MOST_ASKED = 50;

export const redeliverFailed: Job = {
  name: 'redeliver-failed',
  repairs: 'GitHub could not deliver an event and does not try again by itself.',
  reasonCodes: [],
  period: 'repair',
  limit: MOST_ASKED,
  make: (parts) => async () => {
    const { policy } = parts.context.policy.current();
    for (const source of policy.sources.filter((one) => one.kind === 'github' && one.redeliveries > 0)) {
      try {
        await redeliverOf(parts, source);
      } catch (fault) {
        parts.report.refused(fault, { source: source.id });
      }
    }
    return 'idle';
  },
};

async function redeliverOf(parts: JobParts, source: SourcePolicy): Promise<void> {
  const tenantId = parts.context.policy.current().tenantIds.get(source.tenant);
  if (tenantId === undefined) return;
  for (const place of await placesOf(parts, source)) {
    const key = { tenantId, source: source.id, repository: `hook of ${hookOf(place)}` };
    await inTurn(parts, key, (row) => redeliverAt(parts, source, place, row));
  }
}

/** What a turn at one log came to; null: it was read, and all was asked for. */
type Obstacle = Extract<GithubFailure, { kind: 'denied' | 'limited' | 'unavailable' }> | null;

/** Claims the place for a turn, and says on its row how it went; a limit is waited for. */
async function inTurn(
  { context, report }: JobParts,
  key: WatermarkKey,
  turn: (row: WatermarkRow) => Promise<Obstacle>,
): Promise<void> {
  const pool = context.database.service;
  await pool.use((c) => watermarks.ensure(c, [key]));
  const token = randomUUID();
  const row = await pool.use((c) => watermarks.claim(c, key, token, CLAIM_MS));
  if (row === null) return;
  try {
    const obstacle = await turn(row);
    const limitedMs = obstacle?.kind === 'limited' ? obstacle.until.getTime() - row.now.getTime() : 0;
    const outcome = obstacle === null ? 'looked' : obstacle.kind;
    const detail = obstacle?.detail ?? null;
    const nextAfterMs = Math.max(EVERY_MS, limitedMs);
    await pool.use((c) => watermarks.giveBack(c, key, token, { outcome, detail, nextAfterMs }));
  } catch (fault) {
    // The claim runs out by itself.
    report.refused(fault, { source: key.source, hook: key.repository });
  }
}

function hookOf(place: HookPlace): string {
  switch (place.kind) {
    case 'app':
      return 'the App';
    case 'repository':
      return `${place.fullName} ${place.hookId}`;
    case 'organization':
      return `${place.organization} ${place.hookId}`;
  }
}

/** An App has a log of its own; plain hooks, of repositories and organisations, are looked for where one has a secret. */
async function placesOf(parts: JobParts, source: SourcePolicy): Promise<readonly HookPlace[]> {
  const app: readonly HookPlace[] = source.app === null ? [] : [{ kind: 'app' }];
  if (source.app !== null && source.webhookSecrets.length === 0) return app;
  const names = source.repositories.map(({ fullName }) => fullName);
  // One repository of each organisation stands for it.
  const owners = new Map(names.map((name) => [name.split('/')[0]?.toLowerCase(), name]));
  const { github } = parts;
  const found = await Promise.all([
    ...names.map((name) => readHooks(github, source, name)),
    ...[...owners.values()].map((name) => readOrganizationHooks(github, source, name)),
  ]);
  for (const failure of found) {
    if ('kind' in failure) {
      parts.context.logger.debug(
        { source: source.id, detail: failure.detail },
        'the hooks of a repository cannot be listed',
      );
    }
  }
  return [...app, ...found.flatMap((places) => ('kind' in places ? [] : places))];
}

async function redeliverAt(
  parts: JobParts,
  source: SourcePolicy,
  place: HookPlace,
  row: WatermarkRow,
): Promise<Obstacle> {
  const log = await readFailedDeliveries(parts.github, source, place, row.now);
  if (log.kind === 'failed') return obstacleOf(log.failure);
  const { policy } = parts.context.policy.current();
  const wanted = log.failed.filter(({ event }) => listensToEvent(policy, source, `github.${event}`));
  if (wanted.length === 0) return null;
  const guids = wanted.map(({ guid }) => guid);
  const received = await parts.context.database.service.use((c) =>
    deliveries.received(c, row.tenantId, source.id, guids),
  );
  for (const one of wanted.filter(({ guid }) => !received.has(guid)).slice(0, parts.limit)) {
    const obstacle = await askAgain(parts, source, place, row, one);
    if (obstacle !== null) return obstacle;
  }
  return null;
}

/** A log that is not there is one that may not be seen. */
const obstacleOf = (failure: GithubFailure): Obstacle =>
  failure.kind === 'absent' || failure.kind === 'empty'
    ? { kind: 'denied', detail: failure.detail }
    : failure;

/** Not null: GitHub takes no more now. */
async function askAgain(
  { context, github }: JobParts,
  source: SourcePolicy,
  place: HookPlace,
  { tenantId }: WatermarkRow,
  { guid, id, event }: FailedDelivery,
): Promise<Obstacle> {
  const pool = context.database.service;
  const key = { tenantId, source: source.id, hook: hookOf(place) };
  const bounds = { maxTries: source.redeliveries, pauseMs: EVERY_MS };
  const attempt = await pool.use((c) => redeliveries.begin(c, key, guid, bounds));
  if (attempt === null) return null;
  await failPoint('redelivery.begun');
  const path = `${deliveriesPath(place)}/${id}/attempts`;
  const answer = await github.write({
    ...{ source, repository: repositoryOfHook(place), method: 'POST', path, body: {} },
    ...{ rights: redeliveryRights(place), shape: z.unknown() },
  });
  const isAsked = answer.kind === 'found';
  metrics.redeliveries.add(1, { result: isAsked ? 'asked' : 'failed' });
  const detail = 'detail' in answer ? answer.detail : null;
  const isRefused = answer.kind === 'limited' || answer.kind === 'denied';
  await pool.use((c) =>
    isRefused
      ? redeliveries.giveBack(c, key, guid, answer.detail)
      : redeliveries.settle(c, key, guid, detail),
  );
  context.logger.info(
    { source: source.id, guid, event, attempt, isAsked, detail },
    'a failed delivery was asked for again',
  );
  return isRefused ? answer : null;
}
