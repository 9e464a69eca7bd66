/** Reviews of pull requests, and what is said on their code. */
import { notFound, page } from './answers.js';
import type { Call, Endpoint } from './endpoint.js';
import type { ListedRecord } from './forge-state.js';

const newest = (items: readonly ListedRecord[]): readonly ListedRecord[] =>
  [...items].sort((a, b) => String(b['updated_at']).localeCompare(String(a['updated_at'])));

const isOfPull =
  ({ params }: Call) =>
  (it: ListedRecord): boolean =>
    String(it['pull']) === params['number'];

const isNamed =
  ({ params }: Call) =>
  (it: ListedRecord): boolean =>
    String(it['id']) === params['id'];

const commentJson = ({ repository, baseUrl }: Call, comment: ListedRecord): ListedRecord => ({
  ...comment,
  pull_request_url: `${baseUrl}/repos/${repository.fullName}/pulls/${String(comment['pull'])}`,
});

export const reviewEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/pulls/comments',
    handle: (call) => {
      const { since = '' } = call.query;
      const found = call.repository.reviewComments.filter((it) => String(it['updated_at']) >= since);
      return page(
        call,
        newest(found).map((it) => commentJson(call, it)),
      );
    },
  },
  {
    method: 'get',
    path: '/pulls/comments/:id',
    handle: (call) => {
      const found = call.repository.reviewComments.find(isNamed(call));
      return found === undefined ? notFound : { status: 200, body: commentJson(call, found) };
    },
  },
  {
    method: 'get',
    path: '/pulls/:number/reviews',
    handle: (call) => page(call, call.repository.reviews.filter(isOfPull(call))),
  },
  {
    method: 'get',
    path: '/pulls/:number/reviews/:id',
    handle: (call) => {
      const found = call.repository.reviews.filter(isOfPull(call)).find(isNamed(call));
      return found === undefined ? notFound : { status: 200, body: found };
    },
  },
];
