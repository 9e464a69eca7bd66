import { createHash, randomBytes } from 'node:crypto';
import { systemIds } from '@headgate/domain';
import {
  apiTokens,
  Dimensions,
  deferredSignals,
  expireOverdue,
  generateToken,
  idempotencyKeys,
  MAX_SEAL_BYTES,
  payloads,
  promoteDue,
  readyPairs,
  reap,
  schedules,
  seals,
  takeBackUnclaimed,
  tenants,
  unansweredHints,
} from '@headgate/store';
import {
  aReceipt,
  claimRun,
  dispatchRun,
  expireLease,
  runInStatus,
  seedRun,
  seedTenant,
  type TestStore,
  testStore,
} from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { misplaced } from './place.js';
import { receiptsOf, rows, statusOf, stepsOf } from './rows.js';
import { holdRows } from './sessions.js';

const UPKEEP = { hintAgainAfterMs: 5_000, takeBackAfterMs: 30_000, limit: 100, actor: 'scheduler' };
const ago = (column: string, seconds: number) =>
  `update headgate.queue_item set ${column} = now() - interval '${seconds} s'`;

describe('upkeep of what waits', () => {
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });

  test('an unanswered hint is sent again after five seconds, with the trace of the run, and then rests', async () => {
    const run = await seedRun(db, { receipt: { traceparent: '00-1-2-01' } });
    const dispatchNo = await dispatchRun(db, run);
    expect(await unansweredHints(db.service, UPKEEP)).toEqual([]);
    await rows(db, ago('dispatched_at', 6));
    expect(await unansweredHints(db.service, UPKEEP)).toEqual([]);
    await rows(db, ago('hinted_at', 6));
    expect(await unansweredHints(db.service, UPKEEP)).toEqual([
      {
        runId: run.runId,
        dispatchNo,
        queueId: run.tenant.queueId,
        tenantId: run.tenant.id,
        traceparent: '00-1-2-01',
      },
    ]);
    expect(await unansweredHints(db.service, UPKEEP)).toEqual([]);
  });

  test('an item that nobody claimed is taken back with an event, and its dispatch number counts on', async () => {
    const run = await seedRun(db);
    await dispatchRun(db, run);
    expect(await takeBackUnclaimed(db.service, UPKEEP)).toEqual([]);
    await rows(db, ago('dispatched_at', 31));
    expect(await takeBackUnclaimed(db.service, UPKEEP)).toEqual([{ runId: run.runId }]);
    expect(
      await rows(db, 'select state, dispatched_at, hinted_at, verdict from headgate.queue_item'),
    ).toEqual([{ state: 'ready', dispatched_at: null, hinted_at: null, verdict: null }]);
    expect(
      await rows(db, "select actor, data from headgate.run_event where reason_code = 'DISPATCH_EXPIRED'"),
    ).toEqual([{ actor: 'scheduler', data: { dispatchNo: 1 } }]);
    expect(await dispatchRun(db, run)).toBe(2);
  });

  test('an item that a claim holds is neither taken back nor hinted nor expired', async () => {
    const run = await seedRun(db, { timeToLiveMs: 0 });
    await dispatchRun(db, run);
    await rows(db, ago('dispatched_at', 60));
    await rows(db, ago('hinted_at', 60));
    const held = await holdRows(db, 'select 1 from headgate.queue_item for update');
    expect(await takeBackUnclaimed(db.service, UPKEEP)).toEqual([]);
    expect(await unansweredHints(db.service, UPKEEP)).toEqual([]);
    expect(await expireOverdue(db.service, 10, 'scheduler')).toEqual([]);
    await held.release();
  });

  test('a due item becomes ready, and a run that waited for capacity is QUEUED in the same transaction', async () => {
    const capacity = await runInStatus(db, 'WAITING_CAPACITY');
    expect(await promoteDue(db.service, 10, 'scheduler')).toEqual([]);
    await rows(db, ago('visible_at', 1));
    expect(await promoteDue(db.service, 10, 'scheduler')).toEqual([
      { runId: capacity.runId, tenantId: capacity.tenant.id, queueId: capacity.tenant.queueId },
    ]);
    expect((await stepsOf(db, capacity.runId)).slice(-1)).toEqual(['WAITING_CAPACITY -> QUEUED']);
    expect(await rows(db, 'select state, waits from headgate.queue_item')).toEqual([
      { state: 'ready', waits: null },
    ]);
    expect(await db.service.use((c) => readyPairs(c))).toEqual([
      { queueId: capacity.tenant.queueId, tenantId: capacity.tenant.id },
    ]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('a run in back-off is QUEUED all the time: its promotion moves the item alone', async () => {
    const run = await seedRun(db);
    await rows(db, "update headgate.queue_item set state = 'delayed', waits = 'backoff', visible_at = now()");
    expect(await promoteDue(db.service, 10, 'scheduler')).toHaveLength(1);
    expect(await stepsOf(db, run.runId)).toEqual(['QUEUED']);
  });

  test('the time to live bounds the wait before the first claim: EXPIRED with receipt and tombstone', async () => {
    const [overdue, fresh] = [
      await seedRun(db, { timeToLiveMs: 0 }),
      await seedRun(db, { timeToLiveMs: 60_000 }),
    ];
    expect(await expireOverdue(db.service, 10, 'scheduler')).toEqual([overdue.runId]);
    expect(await statusOf(db, fresh.runId)).toBe('QUEUED');
    expect(await receiptsOf(db, overdue.runId)).toMatchObject([
      { outcome: 'no-work', reason_code: 'TIME_TO_LIVE_EXPIRED', attempt_no: null },
    ]);
    expect(await misplaced(db.service)).toEqual([]);
  });

  test('replay (trigger.dev #4669): once claimed, a requeued run has no time to live left to lapse', async () => {
    const run = await runInStatus(db, 'RUNNING', { timeToLiveMs: 600_000 });
    await rows(db, "update headgate.lease set expires_at = now() - interval '1 s'");
    await reap(db.service, { limit: 9, graceMs: 1, random: () => 0.5, actor: 'reaper' });
    expect(await rows(db, 'select expires_at from headgate.queue_item')).toEqual([{ expires_at: null }]);
    expect(await expireOverdue(db.service, 10, 'scheduler')).toEqual([]);
    expect(await statusOf(db, run.runId)).toBe('QUEUED');
  });
});

describe('seals', () => {
  const aSeal = (bundle: Buffer) => ({
    verdict: 'changes' as const,
    baseVersion: 'a'.repeat(40),
    commitSha: 'b'.repeat(40),
    verification: { commands: [{ command: 'npm test', exitCode: 0 }] },
    summary: 'fixed',
    bundle,
  });
  let db: TestStore;
  beforeEach(async () => {
    db = await testStore();
  });

  test('a bundle larger than one chunk comes back byte for byte, and marks its run and branch', async () => {
    const run = await seedRun(db);
    const lease = await claimRun(db, run);
    const bundle = randomBytes(2 * 1_048_576 + 12_345);
    expect(await seals.put(db.service, lease.fence, lease.attemptId, aSeal(bundle), 'agent/x')).toBe(
      'sealed',
    );
    expect(
      await rows(db, 'select octet_length(data) as bytes from headgate.seal_chunk order by seq'),
    ).toEqual([{ bytes: 1_048_576 }, { bytes: 1_048_576 }, { bytes: 12_345 }]);
    expect(await rows(db, 'select branch, sealed_at is not null as sealed from headgate.run')).toEqual([
      { branch: 'agent/x', sealed: true },
    ]);
    const kept = await db.service.use((c) => seals.get(c, run.runId));
    const { bundle: keptBundle, ...rest } = kept ?? aSeal(Buffer.alloc(0));
    // Compared as bytes: a matcher would go through two million of them one by one.
    expect(keptBundle.equals(bundle)).toBe(true);
    const { bundle: _bundle, ...sealed } = aSeal(bundle);
    expect(rest).toEqual(sealed);
  });

  test('the first seal of a run stands', async () => {
    const run = await seedRun(db);
    const lease = await claimRun(db, run);
    const put = (text: string) =>
      seals.put(db.service, lease.fence, lease.attemptId, aSeal(Buffer.from(text)), null);
    expect(await put('first')).toBe('sealed');
    expect(await put('second')).toBe('already');
    expect((await db.service.use((c) => seals.get(c, run.runId)))?.bundle.toString()).toBe('first');
  });

  test('an expired lease seals nothing, and neither does what is too large', async () => {
    const run = await seedRun(db);
    const lease = await claimRun(db, run);
    const tooLarge = aSeal(Buffer.alloc(MAX_SEAL_BYTES + 1));
    expect(await seals.put(db.service, lease.fence, lease.attemptId, tooLarge, null)).toBe('too-large');
    await expireLease(db, run.runId);
    expect(await seals.put(db.service, lease.fence, lease.attemptId, aSeal(Buffer.from('x')), null)).toBe(
      'lost',
    );
    expect(await db.service.use((c) => seals.get(c, run.runId))).toBeNull();
  });

  test('bytes that do not match their hash are not given out', async () => {
    const run = await seedRun(db);
    const lease = await claimRun(db, run);
    await seals.put(db.service, lease.fence, lease.attemptId, aSeal(Buffer.from('bundle')), null);
    await rows(db, "update headgate.seal_chunk set data = 'forged'::bytea");
    await expect(db.service.use((c) => seals.get(c, run.runId))).rejects.toThrow(/does not match its hash/);
  });
});

describe('idempotency keys', () => {
  const hash = (body: string) => createHash('sha256').update(body).digest();

  test('INV-IN3: new, in flight, replayed with status and body, refused for another body, and apart by tenant', async () => {
    const db = await testStore();
    const [ours, theirs] = [await seedTenant(db, { key: 'a' }), await seedTenant(db, { key: 'b' })];
    const begin = (body: string, tenantId = ours.id) =>
      db.service.use((c) => idempotencyKeys.begin(c, tenantId, 'key', hash(body)));
    expect(await begin('x')).toEqual({ kind: 'new' });
    expect(await begin('x')).toEqual({ kind: 'in-flight' });
    expect(await begin('y')).toEqual({ kind: 'reused' });
    await db.service.use((c) =>
      idempotencyKeys.complete(c, ours.id, 'key', 202, { runId: 'run_1', odd: '\u0000' }),
    );
    expect(await begin('x')).toEqual({
      kind: 'replay',
      httpStatus: 202,
      body: { runId: 'run_1', odd: '\ufffd' },
    });
    expect(await begin('y')).toEqual({ kind: 'reused' });
    expect(await begin('y', theirs.id)).toEqual({ kind: 'new' });
    expect(await db.service.use((c) => idempotencyKeys.drop(c, ours.id, 'key'))).toBe(0);
  });

  test('a request that failed undecided frees its key; one that died frees it after a minute, for the same body', async () => {
    const db = await testStore();
    const { id } = await seedTenant(db);
    const begin = (body: string) => db.service.use((c) => idempotencyKeys.begin(c, id, 'key', hash(body)));
    await begin('x');
    await db.service.use((c) => idempotencyKeys.drop(c, id, 'key'));
    expect(await begin('x')).toEqual({ kind: 'new' });
    await rows(db, "update headgate.idempotency_key set created_at = now() - interval '61 s'");
    expect(await begin('y')).toEqual({ kind: 'reused' });
    expect(await begin('x')).toEqual({ kind: 'new' });
    await rows(db, "update headgate.idempotency_key set expires_at = now() - interval '1 s'");
    expect(await begin('y')).toEqual({ kind: 'new' });
    await rows(db, "update headgate.idempotency_key set expires_at = now() - interval '1 s'");
    expect(await db.service.use((c) => idempotencyKeys.forgetExpired(c, 10))).toBe(1);
  });

  test('of requests that come at once, one is new', async () => {
    const db = await testStore();
    const { id } = await seedTenant(db);
    const kinds = await Promise.all(
      [1, 2, 3, 4, 5].map(() => db.service.use((c) => idempotencyKeys.begin(c, id, 'key', hash('x')))),
    );
    expect(kinds.map((start) => start.kind).toSorted()).toEqual([
      'in-flight',
      'in-flight',
      'in-flight',
      'in-flight',
      'new',
    ]);
  });
});

describe('API tokens', () => {
  test('a token authenticates by its hash, through the API role too, until it is revoked or expires', async () => {
    const db = await testStore();
    const tenant = await seedTenant(db);
    const [token, bound, old] = [generateToken(), generateToken(), generateToken()];
    await db.service.use(async (c) => {
      await apiTokens.put(c, { token, name: 'admin', role: 'admin', tenantId: null });
      await apiTokens.put(c, { token: bound, name: 'bot', role: 'viewer', tenantId: tenant.id });
      await apiTokens.put(c, {
        token: old,
        name: 'old',
        role: 'viewer',
        tenantId: null,
        expiresAt: new Date(0),
      });
    });
    const who = (text: string) => db.api.use((c) => apiTokens.authenticate(c, text));
    expect(await who(token)).toMatchObject({ name: 'admin', role: 'admin', tenantId: null });
    expect(await who(bound)).toMatchObject({ name: 'bot', role: 'viewer', tenantId: tenant.id });
    expect(await who(old)).toBeNull();
    expect(await who(`${token}x`)).toBeNull();
    expect(await db.api.use((c) => tenants.idsForToken(c))).toEqual([tenant.id]);
    const next = generateToken();
    await db.service.use((c) =>
      apiTokens.put(c, { token: next, name: 'admin', role: 'admin', tenantId: null, replace: true }),
    );
    expect(await who(token)).toBeNull();
    expect(await who(next)).toMatchObject({ name: 'admin' });
    const kept = await rows<{ text: string }>(db, 'select t::text as text from headgate.api_token t');
    expect(kept.some(({ text }) => [token, bound, next].some((secret) => text.includes(secret)))).toBe(false);
    expect(await rows(db, 'select name from headgate.api_token where last_used_at is null')).toEqual([
      { name: 'old' },
    ]);
  });

  test('tokens have 192 random bits and a checksum that a scanner can recognise', () => {
    const made = new Set(Array.from({ length: 100 }, generateToken));
    expect(made.size).toBe(100);
    for (const token of made) {
      const [, body, check] = /^hg_([\w-]{32})([0-9a-f]{6})$/.exec(token) ?? [];
      expect(
        createHash('sha256')
          .update(body ?? '')
          .digest('hex')
          .slice(0, 6),
      ).toBe(check);
    }
  });
});

describe('small tables', () => {
  test('dimension ids are made once, whoever asks, and remembered; a renamed repository keeps its id', async () => {
    const db = await testStore();
    const { id: tenantId } = await seedTenant(db);
    const [one, two] = [new Dimensions(db.service), new Dimensions(db.service)];
    const agents = ['x', 'y', 'x'].map((key) => ({ tenantId, kind: 'agent', key }) as const);
    const repository = {
      tenantId,
      source: 's',
      externalId: '9',
      fullName: 'acme/old',
      url: null,
      defaultBranch: null,
    };
    await Promise.all([one.ensure(agents, [repository]), two.ensure(agents.toReversed(), [repository])]);
    expect(agents.map((key) => one.id(key))).toEqual(agents.map((key) => two.id(key)));
    const id = one.repositoryId(repository);
    await one.ensure([], [{ ...repository, fullName: 'acme/new', url: '/x.git' }]);
    expect(one.repositoryId(repository)).toBe(id);
    expect(await rows(db, 'select full_name, url from headgate.repository where id = $1', [id])).toEqual([
      { full_name: 'acme/new', url: '/x.git' },
    ]);
    expect(() => one.id({ tenantId, kind: 'agent', key: 'unseen' })).toThrow(/was not ensured/);
    expect(() => one.repositoryId({ tenantId, source: 's', externalId: 'unseen' })).toThrow(
      /was not ensured/,
    );
  });

  test('payloads come back as they were, small and large', async () => {
    const db = await testStore();
    const { id: tenantId } = await seedTenant(db);
    for (const body of [Buffer.from('{}'), Buffer.from('x'.repeat(100_000)), randomBytes(1_000)]) {
      const receiptId = systemIds.next('rcpt');
      const encoded = await payloads.encode(body);
      expect(encoded.encoding).toBe(body.length < 256 ? 'identity' : 'deflate');
      await db.service.use((c) =>
        payloads.insert(c, [{ receiptId, tenantId, mediaType: 'text/plain', ...encoded }]),
      );
      expect(await db.service.use((c) => payloads.read(c, receiptId))).toEqual({
        mediaType: 'text/plain',
        body,
      });
    }
    expect(await db.service.use((c) => payloads.read(c, systemIds.next('rcpt')))).toBeNull();
  });

  test('a deferred signal is due at its time, is taken by one promoter, and may be postponed', async () => {
    const db = await testStore();
    const { id: tenantId } = await seedTenant(db);
    const receipt = aReceipt({ tenantId });
    const deferred = (dueAt: Date | null) => ({
      id: systemIds.next('dfr'),
      tenantId,
      receiptId: receipt.id,
      taskId: null,
      reasonCode: 'DEBOUNCED' as const,
      dueAt,
      candidate: { title: 'a\u0000' },
    });
    const [due, later, latched] = [
      deferred(new Date(0)),
      deferred(new Date(Date.now() + 3_600_000)),
      deferred(null),
    ];
    await db.service.use((c) => deferredSignals.insert(c, [due, later, latched]));
    const dueNow = () => db.service.use((c) => deferredSignals.due(c, 10));
    expect(await dueNow()).toMatchObject([{ id: due.id, candidate: { title: 'a\ufffd' } }]);
    await db.service.use((c) => deferredSignals.postpone(c, [due.id], 60_000));
    expect(await dueNow()).toEqual([]);
    const take = () => db.service.transaction((c) => deferredSignals.take(c, [due.id]));
    const taken = await Promise.all([take(), take()]);
    expect(taken.map((ids) => ids.size).toSorted()).toEqual([0, 1]);
  });
});

describe('schedules', () => {
  const spec = {
    kind: 'schedule',
    ordinal: 0,
    cron: '@every 20s',
    timezone: 'UTC',
    jitterMs: 0,
    overlap: 'skip',
    catchUp: { mode: 'none', windowMs: 0, max: 0 },
  } as const;

  test('a due schedule is held by one ticker; a second one passes it over, and sees what the first one wrote', async () => {
    const db = await testStore();
    const { id: tenantId, policyVersion } = await seedTenant(db);
    const id = systemIds.next('sch');
    const past = new Date('2026-01-01T00:00:00Z');
    await db.service.use((c) =>
      schedules.ensure(c, { id, tenantId, route: 'tidy', ordinal: 0, spec, policyVersion, nextAt: past }),
    );
    await db.service.transaction(async (c) => {
      const due = await schedules.lockDue(c, id);
      expect(due).toMatchObject({ id, spec, nextAt: past, lastNominalAt: null });
      expect(await db.reserved.transaction((other) => schedules.lockDue(other, id))).toBeNull();
      const tick = {
        scheduleId: id,
        nominalAt: past,
        untilAt: past,
        target: 'x',
        tenantId,
        count: 1,
        bucket: 'fired',
        reasonCode: 'ADMITTED',
        receiptId: null,
      } as const;
      expect(await schedules.recordTicks(c, [tick])).toBe(1);
      expect(await schedules.recordTicks(c, [tick])).toBe(0);
      await schedules.advance(c, id, past, new Date('2026-01-01T00:00:20Z'));
    });
    await db.service.transaction(async (c) => {
      expect(await schedules.lockDue(c, id)).toMatchObject({ id, lastNominalAt: past });
    });
  });

  test('the same specification again changes nothing; another starts anew; one that is gone is retired', async () => {
    const db = await testStore();
    const { id: tenantId, policyVersion } = await seedTenant(db);
    const base = { tenantId, route: 'tidy', ordinal: 0, policyVersion, nextAt: new Date(0) };
    const ensure = (cron: string) =>
      db.service.use((c) =>
        schedules.ensure(c, { ...base, id: systemIds.next('sch'), spec: { ...spec, cron } }),
      );
    expect(await ensure('@every 20s')).toBe(1);
    expect(await ensure('@every 20s')).toBe(0);
    await rows(db, 'update headgate.schedule set last_nominal_at = now()');
    expect(await ensure('@hourly')).toBe(1);
    const all = () => db.service.use((c) => schedules.all(c));
    expect(await all()).toMatchObject([{ spec: { cron: '@hourly' }, lastNominalAt: null }]);
    const retire = (keep: readonly { tenantId: number; route: string; ordinal: number }[]) =>
      db.service.use((c) => schedules.retireOthers(c, keep));
    expect(await retire([base])).toBe(0);
    expect(await retire([])).toBe(1);
    expect(await all()).toEqual([]);
    expect(await ensure('@hourly')).toBe(1);
    expect(await all()).toHaveLength(1);
  });
});
