import type { Answer, Call } from './endpoint.js';
import type { ForgeRepository } from './forge-state.js';

export const notFound: Answer = { status: 404, body: { message: 'Not Found' } };

/** 409, what GitHub says of every ref, commit and tree of a repository without a commit. */
export const emptyRepository: Answer = { status: 409, body: { message: 'Git Repository is empty.' } };

export const isEmpty = async ({ git }: ForgeRepository): Promise<boolean> =>
  Object.keys(await git.refs()).length === 0;

/** 422 as GitHub words it. */
export const invalid = (resource: string, code: string, message: string): Answer => ({
  status: 422,
  body: { message: 'Validation Failed', errors: [{ resource, code, message }] },
});

type Page = Answer & { readonly body: readonly unknown[] };

/** One page of a list. */
export const page = (call: Call, items: readonly unknown[]): Page => pageOf(call.query, items);

export function pageOf(query: Call['query'], items: readonly unknown[]): Page {
  const size = Math.min(100, Number(query['per_page'] ?? 30));
  const number = Number(query['page'] ?? 1);
  const end = number * size;
  return { status: 200, body: items.slice(end - size, end), hasNextPage: items.length > end };
}

export const textField = (call: Call, name: string): string | null => {
  const value = call.body[name];
  return typeof value === 'string' ? value : null;
};

export const newestFirst = <T extends { readonly updatedAt: string }>(items: readonly T[]): readonly T[] =>
  [...items].sort((a, b) => b.updatedAt.localeCompare(a.updatedAt));
