import { commitAt, textAt } from '../fields.js';
import { PER_PAGE, type Walk } from './walk.js';

const NO_COMMIT = '0'.repeat(40);
/** Branches that moved lately: what is checked there is looked at, too. */
const LIVELY_MS = 7 * 86_400_000;
const MOST_LIVELY = 50;

/** Of a repository that was seen without a commit: its first branch is news then. */
const NO_BRANCHES = 'branches';

function noteNone(walk: Walk): void {
  if (walk.request.memory.has(NO_BRANCHES)) walk.stands(NO_BRANCHES);
  else walk.note(NO_BRANCHES, 'none', []);
}

/** Notes where each branch stands; gives the heads of the default branch and of those that moved lately. */
export async function lookAtBranches(walk: Walk, tells: boolean): Promise<readonly string[]> {
  const { memory, since, now, repository, isRecalled = false } = walk.request;
  const failures = walk.failures.length;
  const found = await walk.list(walk.path('branches'), { per_page: PER_PAGE }, { isSorted: false });
  const isKnown = isRecalled || [...memory.keys()].some((fact) => fact.startsWith('branch/'));
  if (!isKnown && found.length === 0 && walk.failures.length === failures) {
    noteNone(walk);
    return [];
  }
  // Branches were never seen, though the repository was: this look is their first.
  const isFirst = since === null || (!isKnown && !memory.has(NO_BRANCHES));
  const heads = new Map<string, { sha: string; changedAt: Date }>();
  for (const [fact, { version, changedAt }] of memory) {
    if (fact.startsWith('branch/')) heads.set(fact.slice('branch/'.length), { sha: version, changedAt });
  }
  for (const branch of found) {
    const name = textAt(branch, 'name');
    const sha = commitAt(branch, 'commit', 'sha');
    if (name === null || sha === null) continue;
    const fact = `branch/${name}`;
    const before = memory.get(fact)?.version ?? null;
    if (before === sha) {
      walk.stands(fact);
      continue;
    }
    heads.set(name, { sha, changedAt: isFirst ? new Date(0) : now });
    const payload = {
      ref: `refs/heads/${name}`,
      before: before ?? NO_COMMIT,
      after: sha,
      created: before === null,
      deleted: false,
    };
    walk.note(fact, sha, tells && !isFirst ? [{ event: 'push', payload }] : []);
  }
  const main = repository.defaultBranch ?? 'main';
  const isLively = ([name, { changedAt }]: [string, { changedAt: Date }]): boolean =>
    name === main ||
    (since !== null && now.getTime() - changedAt.getTime() < LIVELY_MS && changedAt > new Date(0));
  return [...heads]
    .filter(isLively)
    .sort(
      ([a, one], [b, other]) =>
        Number(b === main) - Number(a === main) || other.changedAt.getTime() - one.changedAt.getTime(),
    )
    .slice(0, MOST_LIVELY)
    .map(([, { sha }]) => sha);
}
