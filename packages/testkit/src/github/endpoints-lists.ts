/** Lists that are looked at: issues, comments of all issues, workflow runs; and suites by id. */
import { notFound, page } from './answers.js';
import type { Endpoint } from './endpoint.js';
import { commentJson } from './endpoints-comments.js';
import type { ListedRecord } from './forge-state.js';

const newestListed = (items: readonly ListedRecord[], field: string): readonly ListedRecord[] =>
  [...items].sort((a, b) => String(b[field]).localeCompare(String(a[field])));

export const listEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/issues',
    handle: (call) => {
      const { since = '', state = 'open' } = call.query;
      const found = call.repository.issues
        .filter((it) => state === 'all' || it['state'] === state)
        .filter((it) => String(it['updated_at']) >= since);
      return page(call, newestListed(found, 'updated_at'));
    },
  },
  {
    method: 'get',
    path: '/issues/comments',
    handle: (call) => {
      const { since = '' } = call.query;
      const found = call.repository.comments
        .filter(({ updatedAt }) => updatedAt >= since)
        .map((comment) => commentJson(call, comment));
      return page(call, newestListed(found, 'updated_at'));
    },
  },
  {
    method: 'get',
    path: '/issues/comments/:id',
    handle: (call) => {
      const found = call.repository.comments.find((it) => String(it.id) === call.params['id']);
      return found === undefined ? notFound : { status: 200, body: commentJson(call, found) };
    },
  },
  {
    method: 'get',
    path: '/issues/:number/events',
    handle: (call) =>
      page(
        call,
        call.repository.issueEvents.filter((it) => String(it['issue']) === call.params['number']),
      ),
  },
  {
    method: 'get',
    path: '/actions/runs/:id',
    handle: (call) => {
      const found = call.repository.workflowRuns.find((it) => String(it['id']) === call.params['id']);
      return found === undefined ? notFound : { status: 200, body: found };
    },
  },
  {
    method: 'get',
    path: '/issues/:number',
    handle: (call) => {
      const found = call.repository.issues.find((it) => String(it['number']) === call.params['number']);
      return found === undefined ? notFound : { status: 200, body: found };
    },
  },
  {
    method: 'get',
    path: '/actions/runs',
    handle: (call) => {
      const { body, ...rest } = page(call, newestListed(call.repository.workflowRuns, 'created_at'));
      return { ...rest, body: { total_count: call.repository.workflowRuns.length, workflow_runs: body } };
    },
  },
  {
    method: 'get',
    path: '/check-suites/:id',
    handle: (call) => {
      const found = call.repository.checkSuites.find((it) => String(it['id']) === call.params['id']);
      return found === undefined ? notFound : { status: 200, body: found };
    },
  },
];
