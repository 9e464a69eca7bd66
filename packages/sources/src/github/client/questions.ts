/** What GitHub is asked, and what it is told to do. */
import type { SourcePolicy } from '@headgate/domain';
import type { z } from 'zod';

export type GithubSource = Pick<SourcePolicy, 'id' | 'app' | 'token' | 'baseUrl'>;

export interface GithubQuestion<T> {
  readonly source: GithubSource;
  /** `owner/name`: which installation asks. Null: the App as itself. */
  readonly repository: string | null;
  /** Below the API's base: `/repos/acme/api/pulls/7` (see `repositoryPath`), or the `next` of a page before. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly shape: z.ZodType<T>;
  /** Of the last answer that the caller has dealt with; a 304 is then `unchanged`. Not given: a copy may be kept here. */
  readonly etag?: string | null;
  readonly signal?: AbortSignal;
}

export interface GithubCall<T> {
  readonly source: GithubSource;
  /** `owner/name`: which installation calls. Null: the App as itself. */
  readonly repository: string | null;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Permissions of an App that the call needs, e.g. `issues`; none for the App as itself. */
  readonly rights: readonly string[];
  readonly shape: z.ZodType<T>;
  readonly signal?: AbortSignal;
}
