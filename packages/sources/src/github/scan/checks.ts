import { at, idAt, instantAt, textAt } from '../fields.js';
import { OVERLAP_MS } from './pull-requests.js';
import { type Item, PER_PAGE, type Walk } from './walk.js';

/** Heads whose checks one look asks for; the others have their turn as they move. */
const MOST_HEADS = 200;

/** Notes the latest run of each check on each head; a run that ended since is `check_run.completed`. */
export async function lookAtChecks(walk: Walk, heads: readonly string[]): Promise<void> {
  for (const sha of [...new Set(heads)].slice(0, MOST_HEADS)) {
    const path = walk.path('commits', sha, 'check-runs');
    const runs = await walk.list(
      path,
      { per_page: PER_PAGE, filter: 'latest' },
      { field: 'check_runs', isSorted: false },
    );
    for (const run of runs) await noteRun(walk, sha, run);
  }
}

async function noteRun(walk: Walk, sha: string, run: Item): Promise<void> {
  const id = idAt(run, 'id');
  const name = textAt(run, 'name');
  if (id === null || name === null || textAt(run, 'status') !== 'completed') return;
  const fact = `check/${sha}/${idAt(run, 'app', 'id') ?? ''}/${name}`;
  const version = `${id}:${textAt(run, 'conclusion') ?? ''}:${textAt(run, 'completed_at') ?? ''}`;
  const before = walk.request.memory.get(fact)?.version ?? null;
  if (before === version) {
    walk.stands(fact);
    return;
  }
  // One that ended before the last look, and was not noted: its head was not looked at then. No news.
  const { since } = walk.request;
  const endedMs = instantAt(run, 'completed_at')?.getTime() ?? 0;
  if (since === null || (before === null && endedMs < since.getTime() - OVERLAP_MS)) {
    walk.note(fact, version, []);
    return;
  }
  const suite = await suiteOf(walk, run);
  // Without its suite a check tells neither its branch nor its order: it is not noted, and seen again next time.
  if (suite === null) return;
  const payload = { action: 'completed', check_run: { ...run, check_suite: suite }, sender: null };
  walk.note(fact, version, [{ event: 'check_run', payload }]);
}

/** A webhook carries the whole suite, a list only its id. */
async function suiteOf(walk: Walk, run: Item): Promise<unknown> {
  const id = idAt(run, 'check_suite', 'id');
  if (id === null) return at(run, 'check_suite') ?? {};
  return walk.one(walk.path('check-suites', id));
}
