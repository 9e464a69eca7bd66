import { invalid, notFound, page, textField } from './answers.js';
import type { Call, Endpoint } from './endpoint.js';
import type { CommentRecord } from './forge-state.js';

export const commentJson = ({ repository, baseUrl }: Call, comment: CommentRecord) => ({
  id: comment.id,
  body: comment.body,
  user: comment.user ?? { login: 'headgate[bot]', id: 1, type: 'Bot' },
  created_at: comment.createdAt,
  updated_at: comment.updatedAt,
  url: `${baseUrl}/repos/${repository.fullName}/issues/comments/${comment.id}`,
  issue_url: `${baseUrl}/repos/${repository.fullName}/issues/${comment.issueNumber}`,
});

const effectOf = (call: Call, comment: CommentRecord, verb: 'created' | 'updated') => ({
  kind: `comment.${verb}`,
  objectId: `${call.repository.fullName}#${comment.issueNumber}/${comment.id}`,
});

export const commentEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/issues/:number/comments',
    handle: (call) => {
      const body = textField(call, 'body');
      if (body === null) return invalid('IssueComment', 'missing_field', 'body is missing');
      const comment: CommentRecord = {
        id: call.state.nextId(),
        issueNumber: Number(call.params['number']),
        body,
        createdAt: call.now,
        updatedAt: call.now,
      };
      call.repository.comments.push(comment);
      return { status: 201, body: commentJson(call, comment), effect: effectOf(call, comment, 'created') };
    },
  },
  {
    method: 'get',
    path: '/issues/:number/comments',
    handle: (call) => {
      const number = Number(call.params['number']);
      const found = call.repository.comments.filter((it) => it.issueNumber === number);
      return page(
        call,
        found.map((it) => commentJson(call, it)),
      );
    },
  },
  {
    method: 'patch',
    path: '/issues/comments/:id',
    handle: (call) => {
      const comment = call.repository.comments.find((it) => String(it.id) === call.params['id']);
      if (comment === undefined) return notFound;
      comment.body = textField(call, 'body') ?? comment.body;
      comment.updatedAt = call.now;
      return { status: 200, body: commentJson(call, comment), effect: effectOf(call, comment, 'updated') };
    },
  },
];
