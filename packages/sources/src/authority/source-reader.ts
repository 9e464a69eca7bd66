/** Asks each source in the way it can be asked: GitHub by its API where there are credentials, else git. */
import type { Clock, SourcePolicy } from '@headgate/domain';
import { GithubClient } from '../github/client/index.js';
import { GitSourceReader } from './git-reader.js';
import { GithubSourceReader } from './github-reader.js';
import {
  type HeadQuery,
  type HeadReading,
  type PermissionQuery,
  type PermissionReading,
  READ_TIMEOUT_MS,
  type SourceReader,
} from './reader.js';

export interface SourceReaderOptions {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The configuration file: `file:` references start in its folder. */
  readonly configPath: string;
  readonly timeoutMs?: number;
}

/** Whether the API can be asked: anonymous questions are too few to rely on. */
export const hasCredentials = ({ kind, app, token }: SourcePolicy): boolean =>
  kind === 'github' && (app !== null || token !== null);

export class AuthoritativeReader implements SourceReader {
  readonly #git: GitSourceReader;
  readonly #github: GithubSourceReader;

  constructor({ clock, env, configPath, timeoutMs = READ_TIMEOUT_MS }: SourceReaderOptions) {
    this.#git = new GitSourceReader({ clock, timeoutMs });
    this.#github = new GithubSourceReader(new GithubClient({ clock, env, configPath, timeoutMs }), clock);
  }

  readHead(query: HeadQuery): Promise<HeadReading> {
    return hasCredentials(query.source) ? this.#github.readHead(query) : this.#git.readHead(query);
  }

  async readPermission(query: PermissionQuery): Promise<PermissionReading> {
    return hasCredentials(query.source) ? this.#github.readPermission(query) : { kind: 'not-asked' };
  }
}
