import { createHash, randomBytes } from 'node:crypto';
import { systemIds } from '@headgate/domain';
import {
  apiTokens,
  Dimensions,
  deferredSignals,
  generateToken,
  idempotencyKeys,
  payloads,
  tenants,
} from '@headgate/store';
import { aReceipt, seedTenant, testStore } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { rows } from './rows.js';

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
        payloads.insert(c, [{ receiptId, tenantId, mediaType: 'text/plain', headers: null, ...encoded }]),
      );
      expect(await db.service.use((c) => payloads.read(c, receiptId))).toEqual({
        mediaType: 'text/plain',
        headers: null,
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
      repositoryFileId: null,
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
