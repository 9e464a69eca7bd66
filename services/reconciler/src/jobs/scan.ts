/** Sources are looked at: polled where nothing else brings their news, scanned for what a hook did not bring (I10). */
import { randomUUID } from 'node:crypto';
import { type Look, lookAt } from '@headgate/sources';
import { sourceFacts, type WatermarkKey, type WatermarkRow, watermarks } from '@headgate/store';
import { failPoint, metrics, testSignal } from '@headgate/telemetry';
import type { Job, JobParts } from '../job.js';
import { settleLook } from '../scan/settle-look.js';
import { keyText, type ScanTarget, scanTargets } from '../scan/targets.js';

/** A look is over in this time, or it is given up. */
const LOOK_MS = 60_000;
/** Longer than a look and what follows it: who lost a claim has nothing more to say. */
const CLAIM_MS = 120_000;
const AT_ONCE = 4;
const LONGEST_PAUSE_MS = 900_000;

export const sourceScan: Job = {
  name: 'source-scan',
  repairs: 'A source has news that nobody brought.',
  reasonCodes: ['SOURCE_SILENT'],
  period: 'look',
  limit: 20,
  make: (parts) => {
    let known: number | null = null;
    return async () => {
      const active = parts.context.policy.current();
      const targets = new Map(scanTargets(active).map((target) => [keyText(target.key), target]));
      if (targets.size === 0) return 'idle';
      const keys = [...targets.values()].map(({ key }) => key);
      const pool = parts.context.database.service;
      if (known !== active.version) await pool.use((c) => watermarks.ensure(c, keys));
      known = active.version;
      const due = await pool.use((c) => watermarks.due(c, keys, parts.limit));
      await fewAtOnce(due, (key) => lookOnce(parts, targets.get(keyText(key))));
      return due.length >= parts.limit ? 'busy' : 'idle';
    };
  },
};

async function fewAtOnce(
  keys: readonly WatermarkKey[],
  work: (key: WatermarkKey) => Promise<void>,
): Promise<void> {
  const queue = [...keys];
  const hands = Array.from({ length: Math.min(AT_ONCE, queue.length) }, async () => {
    for (let key = queue.shift(); key !== undefined; key = queue.shift()) await work(key);
  });
  await Promise.all(hands);
}

/** One bad source stops no other. */
async function lookOnce(parts: JobParts, target: ScanTarget | undefined): Promise<void> {
  if (target === undefined) return;
  try {
    await claimAndLook(parts, target);
  } catch (fault) {
    parts.report.refused(fault, { source: target.source.id, repository: target.repository.fullName });
  }
}

async function claimAndLook(parts: JobParts, target: ScanTarget): Promise<void> {
  const pool = parts.context.database.service;
  const token = randomUUID();
  const row = await pool.use((c) => watermarks.claim(c, target.key, token, CLAIM_MS));
  if (row === null) return;
  const memory = await pool.use((c) => sourceFacts.read(c, target.key));
  const { source, repository, listened } = target;
  const look = await lookAt(
    {
      source,
      repository,
      listened,
      memory,
      validators: row.validators,
      since: row.lookedAt,
      now: row.now,
      signal: AbortSignal.timeout(LOOK_MS),
    },
    parts.github,
  );
  metrics.sourceLooks.add(1, { result: look.kind === 'looked' ? 'looked' : look.outcome });
  await failPoint('scan.looked');
  if (look.kind === 'failed') await giveBack(parts, target, row, token, look);
  else await settle(parts, target, row, token, look);
}

/** Nothing is known, so nothing changes; the source is asked again, later each time. */
async function giveBack(
  { context }: JobParts,
  target: ScanTarget,
  row: WatermarkRow,
  token: string,
  { outcome, detail, until }: Extract<Look, { kind: 'failed' }>,
): Promise<void> {
  const backoffMs = Math.min(LONGEST_PAUSE_MS, target.scan.everyMs * 2 ** Math.min(row.failures, 10));
  const nextAfterMs = until === null ? backoffMs : Math.max(backoffMs, until.getTime() - row.now.getTime());
  await context.database.service.use((c) =>
    watermarks.fail(c, target.key, token, { outcome, detail, nextAfterMs }),
  );
  const about = { source: target.source.id, repository: target.repository.fullName, outcome, detail };
  context.logger.warn(about, 'a source could not be looked at');
  testSignal('scan.failed', about);
}

async function settle(
  { context, admission, report }: JobParts,
  target: ScanTarget,
  row: WatermarkRow,
  token: string,
  look: Extract<Look, { kind: 'looked' }>,
): Promise<void> {
  const options = { pool: context.database.service, admission, active: context.policy.current(), token };
  const settled = await settleLook(row, look, target, options);
  const about = { source: target.source.id, repository: target.repository.fullName };
  testSignal('scan.settled', { ...about, settled });
  if (settled === null) return;
  if (settled.reasonCodes.length > 0) {
    context.logger.info({ ...about, reasonCodes: settled.reasonCodes }, 'a look found news');
  }
  report.repaired('SOURCE_SILENT', settled.silent, about);
}
