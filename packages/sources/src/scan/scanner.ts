import type { GithubAsker } from '../authority/ask-once.js';
import { lookAtGithub } from '../github/scan/look-at-github.js';
import { lookByGit } from './git-look.js';
import type { Look, LookRequest } from './look.js';

/** Looks at any source that can be looked at. Never throws. */
export async function lookAt(request: LookRequest, client: GithubAsker): Promise<Look> {
  switch (request.source.kind) {
    case 'git':
      return lookByGit(request);
    case 'github':
      return lookAtGithub(request, client);
    case 'cloudevents':
    case 'standard-webhooks':
      return { kind: 'failed', outcome: 'denied', detail: 'This kind of source only tells.', until: null };
  }
}
