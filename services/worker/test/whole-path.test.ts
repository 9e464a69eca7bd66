import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatId } from '@headgate/domain';
import { eventually } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { artifactFile, eventsOf, rowsOf, workshop } from './workshop.js';

describe('a run on its whole way', () => {
  it('Q9, Q14: the agent edits, the result is sealed, and one commit lands on agent/{task}/{run}', async () => {
    const shop = await workshop();
    await shop.worker();
    const run = await shop.offer();

    await shop.reaches(run.runId, 'SUCCEEDED');

    const branch = `agent/${formatId('task', run.taskId)}/${formatId('run', run.runId)}`;
    const [commit] = await shop.repository.history(branch);
    expect(commit?.parents).toEqual([shop.headSha]);
    expect(commit?.authorName).toBe('Headgate');
    expect(commit?.message).toContain(`Agent-Run-ID: ${formatId('run', run.runId)}`);
    expect(await shop.repository.read(branch, 'src/sum.js')).not.toContain('FIXME');
    expect(await shop.repository.pushes()).toEqual([
      { ref: `refs/heads/${branch}`, before: null, after: commit?.sha },
    ]);
    const types = await eventsOf(shop, run.runId);
    expect(types.filter((type) => type.startsWith('run.') || type.startsWith('operation.'))).toEqual([
      'run.admitted',
      'run.queued',
      'run.claimed',
      'run.preparing_sandbox',
      'run.running',
      'run.judging',
      'run.finalizing',
      'operation.intended',
      'operation.attempted',
      'operation.confirmed',
      'run.succeeded',
    ]);
    const artifacts = await rowsOf<{ name: string; path: string; bytes: string }>(
      shop,
      'select name, path, bytes from headgate.artifact where run_id = $1 order by name',
      [run.runId],
    );
    expect(artifacts.map(({ name }) => name)).toEqual(['agent.log', 'changes.patch']);
    expect(await readFile(artifactFile(shop, artifacts[1]?.path ?? ''), 'utf8')).toContain(
      '+  return a + b;',
    );
    const [left] = await rowsOf<{ leases: number; items: number }>(
      shop,
      'select (select count(*)::int from headgate.lease) as leases, (select count(*)::int from headgate.queue_item) as items',
    );
    expect(left).toEqual({ leases: 0, items: 0 });
    const workspaces = join(shop.dataDir, 'workspaces', formatId('run', run.runId));
    // Removed once the end is written: the slot, not the run, waits for it.
    await eventually(() => !existsSync(workspaces) || readdirSync(workspaces).length === 0, {
      what: 'the workspace to be removed',
    });
  });
});
