/**
 * The files that a pull request changes. No event tells them, so a route with `paths` has them read, after the answer.
 *
 * GitHub lists the first 3 000. A longer list says nothing of what lies behind: the pull request is then not filtered
 * by its files, and the route's `paths` bound the result.
 */
import type { RoutePolicy, Signal } from '@headgate/domain';
import { z } from 'zod';
import { type GithubOutcome, type GithubSource, repositoryPath } from '../github/client/index.js';
import { githubEventOf } from '../github/events.js';
import type { GithubAsker } from './ask-once.js';
import { notRead, type Readout } from './readout.js';

export const MOST_FILES_LISTED = 3_000;
const PER_PAGE = 100;

/** Whether a route is narrowed by files that this signal's pull request changes, and that nobody has read yet. */
export const asksForFiles = ({ paths }: Pick<RoutePolicy, 'paths'>, signal: Signal): boolean =>
  paths.length > 0 &&
  signal.changedFiles == null &&
  signal.trigger === 'event' &&
  signal.target?.kind === 'pull_request' &&
  githubEventOf(signal.type)?.startsWith('pull_request') === true;

const filesShape = z.array(z.object({ filename: z.string(), previous_filename: z.string().nullish() }));
type Files = z.output<typeof filesShape>;

interface FilesQuery {
  readonly client: GithubAsker;
  readonly source: GithubSource;
  readonly signal: Signal;
}

export async function withChangedFiles({ client, source, signal }: FilesQuery): Promise<Readout> {
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
  const paths = files.flatMap(({ filename, previous_filename: before }) =>
    before == null ? [filename] : [filename, before],
  );
  return {
    kind: 'read',
    signal: { ...signal, changedFiles: { paths, isWhole: files.length < MOST_FILES_LISTED } },
  };
}
