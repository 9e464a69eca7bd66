import { emptyRepository, isEmpty, notFound, page } from './answers.js';
import type { Call, Endpoint } from './endpoint.js';

/** A repository as GitHub shows it, in short. */
export function repositoryJson({ repository, baseUrl }: Pick<Call, 'repository' | 'baseUrl'>) {
  const [owner = '', name = ''] = repository.fullName.split('/');
  return {
    id: repository.id,
    name,
    full_name: repository.fullName,
    owner: { login: owner, type: 'Organization' },
    private: true,
    fork: false,
    default_branch: repository.git.defaultBranch,
    ...(repository.pushedAt === undefined ? {} : { pushed_at: repository.pushedAt }),
    url: `${baseUrl}/repos/${repository.fullName}`,
    clone_url: repository.git.url,
  };
}

export const repositoryEndpoints: readonly Endpoint[] = [
  { method: 'get', path: '', handle: (call) => ({ status: 200, body: repositoryJson(call) }) },
  {
    method: 'get',
    path: '/branches',
    handle: async (call) => {
      const heads = Object.entries(await call.repository.git.refs()).filter(([ref]) =>
        ref.startsWith('refs/heads/'),
      );
      return page(
        call,
        heads.map(([ref, sha]) => ({ name: ref.slice('refs/heads/'.length), commit: { sha } })),
      );
    },
  },
  {
    method: 'get',
    path: '/branches/*name',
    handle: async (call) => {
      const name = call.params['name'] ?? '';
      const sha = await call.repository.git.head(name);
      return sha === null ? notFound : { status: 200, body: { name, commit: { sha } } };
    },
  },
  {
    method: 'get',
    path: '/git/ref/*name',
    handle: async (call) => {
      const ref = `refs/${call.params['name']}`;
      if (await isEmpty(call.repository)) return emptyRepository;
      const sha = (await call.repository.git.refs())[ref];
      return sha === undefined ? notFound : { status: 200, body: { ref, object: { type: 'commit', sha } } };
    },
  },
];
