/** Who may do what, who made a commit, and what people ask for in issues. */
import { emptyRepository, isEmpty, notFound } from './answers.js';
import type { Endpoint } from './endpoint.js';

export const peopleEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/collaborators/:login/permission',
    handle: ({ repository, params }) => {
      const login = params['login'] ?? '';
      const permission = repository.permissions.get(login) ?? 'write';
      return { status: 200, body: { permission, role_name: permission, user: { login } } };
    },
  },
  {
    method: 'get',
    path: '/commits/:sha',
    handle: async ({ repository, params }) =>
      (await isEmpty(repository))
        ? emptyRepository
        : {
            status: 200,
            body: { sha: params['sha'], author: { login: 'octocat' }, committer: { login: 'octocat' } },
          },
  },
  {
    method: 'get',
    path: '/issues/:number',
    handle: ({ repository, params }) => {
      const issue = repository.issues.find((it) => String(it.number) === params['number']);
      return issue === undefined ? notFound : { status: 200, body: issue };
    },
  },
];
