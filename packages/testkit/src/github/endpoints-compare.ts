/** Two commits compared, as GitHub does it: from their merge base, with at most 300 files, all on the first page. */
import { emptyRepository, isEmpty, notFound } from './answers.js';
import type { Endpoint } from './endpoint.js';
import { git } from './git-command.js';

const MOST_FILES = 300;

export const compareEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/compare/*basehead',
    handle: async ({ repository, params }) => {
      if (await isEmpty(repository)) return emptyRepository;
      const { path } = repository.git;
      const commitOf = (name: string) =>
        git(path, ['rev-parse', '--verify', '--quiet', `${name}^{commit}`]).then(
          (sha) => sha.trim(),
          () => null,
        );
      const [from = '', to = ''] = (params['basehead'] ?? '').split('...');
      const [base, head] = [await commitOf(from), await commitOf(to)];
      if (base === null || head === null) return notFound;
      const merge = await git(path, ['merge-base', base, head]).then(
        (sha) => sha.trim(),
        () => null,
      );
      if (merge === null) return notFound;
      const changed = (await git(path, ['diff', '--name-status', '-M', merge, head]))
        .split('\n')
        .filter(Boolean);
      const commits = Number(await git(path, ['rev-list', '--count', `${base}..${head}`]));
      return {
        status: 200,
        body: {
          status: statusOf(base, head, merge),
          merge_base_commit: { sha: merge },
          total_commits: commits,
          files: changed.slice(0, MOST_FILES).map(fileOf),
        },
      };
    },
  },
];

function statusOf(base: string, head: string, merge: string): string {
  if (base === head) return 'identical';
  if (merge === base) return 'ahead';
  return merge === head ? 'behind' : 'diverged';
}

/** `M\tname`, `R100\told\tnew`. */
function fileOf(line: string) {
  const [letter = '', first = '', second] = line.split('\t');
  return second === undefined
    ? { filename: first, status: letter }
    : { filename: second, previous_filename: first, status: 'renamed' };
}
