/** Objects of git as the API shows them. */
import { emptyRepository, isEmpty, notFound, page } from './answers.js';
import type { Endpoint } from './endpoint.js';
import { git } from './git-command.js';

const OBJECT = /^[0-9a-f]{40}$/;

export const gitEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/commits',
    handle: async (call) => {
      const { sha = call.repository.git.defaultBranch, since, until } = call.query;
      const span = [
        ...(since === undefined ? [] : [`--since=${since}`]),
        ...(until === undefined ? [] : [`--until=${until}`]),
      ];
      const format = '--format=%H%x1f%P%x1f%cI%x1f%s';
      const lines = await git(call.repository.git.path, ['log', format, ...span, sha, '--']).catch(
        () => null,
      );
      if (lines === null) return notFound;
      return page(
        call,
        lines.split('\n').flatMap((line) => {
          const [id = '', parents = '', date = '', message = ''] = line.split('\x1f');
          const committer = { name: 'A Colleague', date };
          const of = parents === '' ? [] : parents.split(' ');
          return id === ''
            ? []
            : [{ sha: id, commit: { message, committer }, parents: of.map((parent) => ({ sha: parent })) }];
        }),
      );
    },
  },
  {
    method: 'get',
    path: '/git/trees/:sha',
    handle: async ({ repository, params }) => {
      const sha = params['sha'] ?? '';
      if (await isEmpty(repository)) return emptyRepository;
      if (!OBJECT.test(sha)) return notFound;
      const lines = (await git(repository.git.path, ['ls-tree', '-l', sha])).split('\n');
      const tree = lines.flatMap((line) => {
        const [, mode, type, object, size, path] = /^(\d+) (\w+) (\w+) +(\S+)\t(.+)$/.exec(line) ?? [];
        if (mode === undefined) return [];
        return [{ mode, type, sha: object, path, ...(size === '-' ? {} : { size: Number(size) }) }];
      });
      return { status: 200, body: { sha, tree, truncated: false } };
    },
  },
  {
    method: 'get',
    path: '/git/blobs/:sha',
    handle: async ({ repository, params }) => {
      const sha = params['sha'] ?? '';
      if (!OBJECT.test(sha)) return notFound;
      const content = await git(repository.git.path, ['cat-file', 'blob', sha]);
      const encoded = Buffer.from(content, 'utf8').toString('base64');
      // As GitHub does, in lines.
      const body = encoded.replace(/(.{60})/g, '$1\n');
      return { status: 200, body: { sha, content: body, encoding: 'base64', size: content.length } };
    },
  },
];
