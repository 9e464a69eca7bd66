/** The two things that are done at the forge: look whether the comment is there, and write it. */
import type { SourcePolicy } from '@headgate/domain';
import { type GithubClient, type GithubOutcome, repositoryPath } from '@headgate/sources';
import type { ClaimedFeedback, FeedbackEvidence } from '@headgate/store';
import { z } from 'zod';
import { commentOf, markerOf } from './words.js';

const comment = z.object({
  id: z.int(),
  body: z.string().nullish(),
  html_url: z.string().nullish(),
  user: z.object({ login: z.string(), type: z.string().nullish() }).nullish(),
  performed_via_github_app: z.object({ id: z.int() }).nullish(),
});
type Comment = z.output<typeof comment>;
const MOST_PAGES = 20;

export interface Place {
  readonly github: GithubClient;
  readonly source: SourcePolicy;
  readonly row: ClaimedFeedback;
}

export type Sighting =
  | { readonly kind: 'there'; readonly evidence: FeedbackEvidence }
  | { readonly kind: 'not-there' }
  | { readonly kind: 'unknown'; readonly detail: string };

const commentsPath = ({ repository, number }: ClaimedFeedback): string =>
  repositoryPath(repository, 'issues', number, 'comments');

/** Reads all pages: absent means seen everywhere and found nowhere. */
export async function lookFor(place: Place): Promise<Sighting> {
  const { github, source, row } = place;
  let path: string | null = commentsPath(row);
  for (let page = 0; path !== null && page < MOST_PAGES; page += 1) {
    const answer: GithubOutcome<Comment[]> = await github.read({
      source,
      repository: row.repository,
      path,
      ...(page === 0 ? { query: { per_page: 100 } } : {}),
      shape: z.array(comment),
    });
    if (answer.kind !== 'found') {
      return { kind: 'unknown', detail: answer.kind === 'unchanged' ? 'nothing new' : answer.detail };
    }
    const found = answer.value.find((one) => one.body?.includes(markerOf(row)) && isOurs(one, source));
    if (found !== undefined) return { kind: 'there', evidence: evidenceOf(found) };
    path = answer.next;
  }
  return path === null ? { kind: 'not-there' } : { kind: 'unknown', detail: 'There are too many comments.' };
}

/** Anybody can paste a marker: only an account of ours counts, where the configuration names ours. */
function isOurs({ user, performed_via_github_app: app }: Comment, { self }: SourcePolicy): boolean {
  if (self === undefined) return true;
  if (app != null && String(app.id) === self.appId) return true;
  const login = user?.login.toLowerCase();
  return self.logins.some((one) => one.toLowerCase() === login) || self.logins.length === 0;
}

export const write = ({ github, source, row }: Place): Promise<GithubOutcome<Comment>> =>
  github.write({
    source,
    repository: row.repository,
    method: 'POST',
    path: commentsPath(row),
    body: { body: commentOf(row) },
    rights: ['issues', 'pull_requests'],
    shape: comment,
  });

export const evidenceOf = ({ id, html_url }: Comment): FeedbackEvidence => ({
  externalId: String(id),
  url: html_url ?? null,
});
