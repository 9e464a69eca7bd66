/**
 * The files that a signal changes, read after the answer: of a pull request, whose events never tell them, and of a push
 * that only woke, whose payload is not taken at its word.
 *
 * What GitHub does not list wholly says nothing of what lies behind the end: the signal is then not filtered by its
 * files, its receipt says so, and the route's `paths` bound the result.
 */
import type { RoutePolicy, Signal } from '@headgate/domain';
import { z } from 'zod';
import { type GithubOutcome, type GithubSource, repositoryPath } from '../github/client/index.js';
import { githubEventOf } from '../github/events.js';
import { isCommitId, textAt } from '../github/fields.js';
import type { GithubAsker } from './ask-once.js';
import { notRead, type Readout } from './readout.js';

export const MOST_FILES_LISTED = 3_000;
/** A comparison shows no more, on its first page. */
export const MOST_FILES_COMPARED = 300;
const PER_PAGE = 100;

/**
 * Whether a route is narrowed by files that this signal changes, and that nobody has read yet.
 * @param isWake the payload is not taken at its word
 */
export function asksForFiles({ paths }: Pick<RoutePolicy, 'paths'>, signal: Signal, isWake = false): boolean {
  if (paths.length === 0 || signal.changedFiles != null || signal.trigger !== 'event') return false;
  const event = githubEventOf(signal.type);
  if (event === 'push') return isWake && signal.target?.kind === 'branch';
  return signal.target?.kind === 'pull_request' && event?.startsWith('pull_request') === true;
}

const filesShape = z.array(z.object({ filename: z.string(), previous_filename: z.string().nullish() }));
type Files = z.output<typeof filesShape>;

interface FilesQuery {
  readonly client: GithubAsker;
  readonly source: GithubSource;
  readonly signal: Signal;
  /** As it was told; a push names there what it moved from. */
  readonly told: Signal;
}

export function withChangedFiles(query: FilesQuery): Promise<Readout> {
  return githubEventOf(query.signal.type) === 'push' ? filesOfPush(query) : filesOfPull(query);
}

async function filesOfPull({ client, source, signal }: FilesQuery): Promise<Readout> {
  const { repository, target } = signal;
  if (repository === null || target === null) {
    return { kind: 'unresolved', detail: 'The signal names no pull request.' };
  }
  const files: Files[number][] = [];
  let path: string | null = repositoryPath(repository.fullName, 'pulls', target.id, 'files');
  while (path !== null && files.length < MOST_FILES_LISTED) {
    const answer: GithubOutcome<Files> = await client.read({
      ...{ source, repository: repository.fullName, path, shape: filesShape },
      ...(files.length === 0 ? { query: { per_page: PER_PAGE } } : {}),
    });
    if (answer.kind === 'absent') {
      return { kind: 'closed', detail: `There is no pull request ${target.id}.` };
    }
    if (answer.kind !== 'found') return notRead(answer);
    files.push(...answer.value);
    path = answer.next;
  }
  return withFiles(signal, files, files.length < MOST_FILES_LISTED);
}

/** Of a branch that was not there before. */
const NO_COMMIT = /^0{40,64}$/;

const comparison = z.object({ status: z.string(), files: filesShape.catch([]) });

/**
 * What lies between the commit that the push is said to have moved from and the one that the branch stands at. The first
 * is the sender's word, so it only bounds a list that GitHub makes: one that is not behind the head, or is not known,
 * leaves the files unknown. Of a new branch it is the default branch.
 */
async function filesOfPush({ client, source, signal, told }: FilesQuery): Promise<Readout> {
  const { repository, inputVersion } = signal;
  const base = baseOf(signal, told);
  if (repository === null || inputVersion === null || base === null) return withFiles(signal, [], false);
  const answer = await client.read({
    ...{ source, repository: repository.fullName, shape: comparison },
    path: repositoryPath(repository.fullName, 'compare', `${base}...${inputVersion}`),
    query: { per_page: 1 },
  });
  if (answer.kind === 'absent') return withFiles(signal, [], false);
  if (answer.kind !== 'found') return notRead(answer);
  const { status, files } = answer.value;
  const isForward = status === 'ahead' || status === 'diverged';
  return withFiles(signal, files, isForward && files.length < MOST_FILES_COMPARED);
}

/** Null: there is nothing to compare with. */
function baseOf({ repository, target }: Signal, { data }: Signal): string | null {
  const before = textAt(data, 'before') ?? '';
  if (isCommitId(before)) return before;
  const main = repository?.defaultBranch ?? null;
  return NO_COMMIT.test(before) && main !== target?.id ? main : null;
}

function withFiles(signal: Signal, files: Files, isWhole: boolean): Readout {
  const paths = files.flatMap(({ filename, previous_filename: before }) =>
    before == null ? [filename] : [filename, before],
  );
  return { kind: 'read', signal: { ...signal, changedFiles: { paths, isWhole } } };
}
