import { formatId } from '@headgate/domain';
import { createClient, HeadgateProblem } from '@headgate/sdk';
import { seedRun } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole } from './a-console.js';

describe('the client against the console', () => {
  it('follows a list to its end, acts, asks why, and throws what the API refuses', async () => {
    const test = await aConsole();
    const client = createClient({ url: test.url, token: test.tokens.operator });
    const made: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      made.push(formatId('run', (await seedRun(test.store, { tenant: test.tenant })).runId));
    }
    const seen: string[] = [];
    for await (const run of client.runs.all({ limit: 2, publicStatus: 'waiting' })) seen.push(run.id);
    expect(seen).toEqual(made.toReversed());
    const [id = ''] = seen;
    expect((await client.runs.cancel(id, { reason: 'enough' })).status).toBe('CANCELLED');
    expect((await client.runs.retry(id)).outcome).toBe('accept');
    expect((await client.explain(id)).kind).toBe('run');
    expect((await client.queues.page()).items).toHaveLength(1);
    expect((await client.receipts.page({ limit: 1 })).items).toHaveLength(1);
    expect((await client.runs.artifacts(id)).items).toEqual([]);
    const { taskId } = await client.runs.get(id);
    expect((await client.tasks.cancel(taskId)).latestRun?.status).toBe('CANCELLED');
    expect((await client.tasks.reset(taskId)).reasonCode).toBe('ADMITTED');
    const unknown = client.runs.get('run_00000000000000000000000000');
    await expect(unknown).rejects.toThrow(HeadgateProblem);
    await expect(unknown).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
    const viewer = createClient({ url: test.url, token: test.tokens.viewer });
    await expect(viewer.runs.cancel(id)).rejects.toMatchObject({ status: 403, code: 'FORBIDDEN' });
  });
});
