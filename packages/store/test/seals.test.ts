import { randomBytes } from 'node:crypto';
import { MAX_SEAL_BYTES, seals } from '@headgate/store';
import { claimRun, expireLease, seedRun, type TestStore, testStore } from '@headgate/testkit';
import { beforeEach, describe, expect, test } from 'vitest';
import { rows } from './rows.js';

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
