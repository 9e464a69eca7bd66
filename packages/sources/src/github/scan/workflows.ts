import { idAt, instantAt, textAt } from '../fields.js';
import { OVERLAP_MS } from './pull-requests.js';
import { PER_PAGE, type Walk } from './walk.js';

/** Notes each workflow run that ended, newest first. A re-run of one that lies further back than a page is not seen. */
export async function lookAtWorkflows(walk: Walk): Promise<void> {
  const { memory, since } = walk.request;
  const untilMs = since === null ? null : since.getTime() - OVERLAP_MS;
  const runs = await walk.list(
    walk.path('actions', 'runs'),
    { per_page: PER_PAGE },
    {
      field: 'workflow_runs',
      isSorted: true,
      goesOn: (page) => untilMs !== null && (instantAt(page.at(-1), 'created_at')?.getTime() ?? 0) >= untilMs,
    },
  );
  for (const run of runs) {
    const id = idAt(run, 'id');
    if (id === null || textAt(run, 'status') !== 'completed') continue;
    const fact = `workflow/${id}`;
    const version = `${idAt(run, 'run_attempt') ?? '1'}:${textAt(run, 'conclusion') ?? ''}`;
    if (memory.get(fact)?.version === version) walk.stands(fact);
    else {
      // One that ended before the last look, and was not noted: no news.
      const endedMs = instantAt(run, 'updated_at')?.getTime() ?? 0;
      const isNews = untilMs !== null && (endedMs >= untilMs || memory.has(fact));
      const payload = {
        action: 'completed',
        workflow_run: run,
        sender: run['triggering_actor'] ?? run['actor'] ?? null,
      };
      walk.note(fact, version, isNews ? [{ event: 'workflow_run', payload }] : []);
    }
  }
}
