import { Connection } from '@headgate/store';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { submissionOf } from '../../../test/world/signals.js';
import { anAdmission, aWorld } from '../../../test/world/world.js';

type Client = Connection['client'];

/** Does `commit` to the first COMMIT that any session sends, and then loses the connection. */
function loseFirstCommit(commit: (client: Client, send: Client['query']) => Promise<unknown>): void {
  let isArmed = true;
  const original = Connection.prototype.run;
  vi.spyOn(Connection.prototype, 'run').mockImplementation(function (this: Connection, ...args) {
    const { client } = this;
    if (isArmed && !Object.hasOwn(client, 'query')) {
      const send = client.query.bind(client) as Client['query'];
      const losing = async (...sent: unknown[]): Promise<unknown> => {
        if (sent[0] !== 'commit' || !isArmed) return Reflect.apply(send, client, sent);
        isArmed = false;
        await commit(client, send);
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
      };
      Object.assign(client, { query: losing });
    }
    return original.apply(this, args) as never;
  });
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a COMMIT without an answer', () => {
  it('INV-IN1: that took effect is read back, and the sender gets the one answer there is', async () => {
    const world = await aWorld();
    const { admission, admitted } = anAdmission(world);
    loseFirstCommit((_client, send) => send('commit'));

    const answer = await admission.submit(submissionOf());

    expect(answer.reasonCode).toBe('ADMITTED');
    const receipts = await world.sql<Record<string, unknown>>('select id, run_id from headgate.receipt');
    expect(receipts).toEqual([{ id: answer.receiptId, run_id: answer.runId }]);
    expect(admitted.map((run) => run.runId)).toEqual([answer.runId]);
  });

  it('INV-IN2: that took no effect is tried again under the same ids', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    loseFirstCommit((_client, send) => send('rollback'));

    const answer = await admission.submit(submissionOf());

    expect(answer.reasonCode).toBe('ADMITTED');
    const receipts = await world.sql<Record<string, unknown>>('select id, run_id from headgate.receipt');
    expect(receipts).toEqual([{ id: answer.receiptId, run_id: answer.runId }]);
    expect(await world.sql('select 1 from headgate.run')).toHaveLength(1);
  });
});
