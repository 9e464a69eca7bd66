import { Connection } from '@headgate/store';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { submissionOf } from '../../../test/world/signals.js';
import { anAdmission, aWorld } from '../../../test/world/world.js';

type Client = Connection['client'];

/** Does `commit` to the first COMMIT of a session that ran a statement called like `after`, and then loses the connection. */
function loseCommit(after: RegExp, commit: (client: Client, send: Client['query']) => Promise<unknown>) {
  const lost: string[] = [];
  const original = Connection.prototype.run;
  vi.spyOn(Connection.prototype, 'run').mockImplementation(function (this: Connection, ...args) {
    const { client } = this;
    const [{ name }] = args;
    if (lost.length === 0 && after.test(name) && !Object.hasOwn(client, 'query')) {
      const send = client.query.bind(client) as Client['query'];
      const losing = async (...sent: unknown[]): Promise<unknown> => {
        if (sent[0] !== 'commit' || lost.length > 0) return Reflect.apply(send, client, sent);
        lost.push(name);
        await commit(client, send);
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
      };
      Object.assign(client, { query: losing });
    }
    return original.apply(this, args) as never;
  });
  return lost;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a COMMIT without an answer', () => {
  it('INV-IN1: that took effect is read back, and the sender gets the one answer there is', async () => {
    const world = await aWorld();
    const { admission, admitted } = anAdmission(world);
    const lost = loseCommit(/^task\./, (_client, send) => send('commit'));

    const answer = await admission.submit(submissionOf());

    expect(lost).toHaveLength(1);
    expect(answer.reasonCode).toBe('ADMITTED');
    const receipts = await world.sql<Record<string, unknown>>('select id, run_id from headgate.receipt');
    expect(receipts).toEqual([{ id: answer.receiptId, run_id: answer.runId }]);
    expect(admitted.map((run) => run.runId)).toEqual([answer.runId]);
  });

  it('INV-IN2: that took no effect is tried again under the same ids', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const lost = loseCommit(/^task\./, (_client, send) => send('rollback'));

    const answer = await admission.submit(submissionOf());

    expect(lost).toHaveLength(1);
    expect(answer.reasonCode).toBe('ADMITTED');
    const receipts = await world.sql<Record<string, unknown>>('select id, run_id from headgate.receipt');
    expect(receipts).toEqual([{ id: answer.receiptId, run_id: answer.runId }]);
    expect(await world.sql('select 1 from headgate.run')).toHaveLength(1);
  });

  it.each(['commit', 'rollback'])(
    'INV-IN1: of the ids that a signal needs is made again, whether it took effect or not (%s)',
    async (outcome) => {
      const world = await aWorld();
      const { admission } = anAdmission(world);
      const lost = loseCommit(/^(dimension|repository)\./, (_client, send) => send(outcome));

      const answer = await admission.submit(submissionOf());

      expect(lost).toHaveLength(1);
      expect(answer.reasonCode).toBe('ADMITTED');
      expect(await world.sql('select 1 from headgate.run')).toHaveLength(1);
    },
  );
});
