/** The console's search among very many receipts, asked over HTTP as a browser asks. */
import { apiTokens, generateToken } from '@headgate/store';
import { aRunSpec, seedBacklog, seedTenant } from '@headgate/testkit/measure';
import { openInstance } from '../harness/instance.js';
import { median } from '../harness/rounds.js';
import type { Bench, Part } from '../harness/row.js';

const AT_ONCE = 100_000;
const ASKED = 15;

export const receipts: Part = {
  name: 'receipts',
  run: async ({ place, effort }: Bench) => {
    const instance = await openInstance(place, 'receipts');
    try {
      const like = await seedTenant(instance.db, { route: 'fix', agent: 'fixer' });
      const groups = Array.from({ length: Math.ceil(effort.receipts / AT_ONCE) }, (_, n) => ({
        tenantIds: [like.id],
        runs: Math.min(AT_ONCE, effort.receipts - n * AT_ONCE),
        state: 'ended' as const,
        agoMs: (effort.receipts - n * AT_ONCE) * 2,
      }));
      await seedBacklog({ ownerUrl: instance.urls.ownerUrl, like, spec: aRunSpec({ route: 'fix' }) }, groups);
      const token = generateToken();
      await instance.db.service.use((c) =>
        apiTokens.put(c, { token, name: 'bench', role: 'viewer', tenantId: null }),
      );
      const { url } = await instance.service('console');
      const [some] = await instance.rows<{ eventId: string }>(
        'select event_id as "eventId" from headgate.receipt order by id limit 1',
      );
      const ask = async (path: string): Promise<number> => {
        const startedMs = performance.now();
        const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
        if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
        await response.arrayBuffer();
        return performance.now() - startedMs;
      };
      const timed = async (path: string): Promise<number[]> => {
        const all: number[] = [];
        for (let n = 0; n < ASKED; n += 1) all.push(await ask(path));
        return [median(all.slice(0, 5)), median(all.slice(5, 10)), median(all.slice(10))];
      };
      const among = `among ${effort.receipts.toLocaleString('en').replaceAll(',', ' ')} receipts`;
      const row = (name: string, ours: readonly number[]) => ({
        name: `${name}, ${among}`,
        unit: 'ms',
        ours,
        against: null,
        target: null,
      });
      return [
        row('the newest page of receipts', await timed('/v1/receipts')),
        row(
          'the receipt of a delivery id',
          await timed(`/v1/receipts?eventId=${encodeURIComponent(some?.eventId ?? '')}`),
        ),
        row(
          'a work key that is not there: the newest 5 000 looked through',
          await timed('/v1/receipts?workKey=no/such/key'),
        ),
      ];
    } finally {
      await instance.close();
    }
  },
};
