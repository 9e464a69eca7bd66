/**
 * A look as it would be, had the last one been at `since`: what was known then is put together from the source's own
 * history, and then the same look is made. It only reads, and remembers nothing.
 *
 * It sees what stands now: of a branch that moved five times one move, of a check its latest run on a head of today.
 * What nobody keeps (an edit of a text) is no news. What could not be read is not taken for news either; the look says
 * that it is not whole.
 */
import type { Signal } from '@headgate/domain';
import { AskOnce, type GithubAsker } from '../authority/ask-once.js';
import { hasCredentials } from '../authority/source-reader.js';
import { parseGitLocation } from '../git/location.js';
import { recallAtGithub } from '../github/scan/recall.js';
import { recallByGit } from './git-recall.js';
import type { Look } from './look.js';
import { lookAt } from './scanner.js';
import type { LookTarget } from './targets.js';

export interface LookBackRequest extends LookTarget {
  readonly since: Date;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** Never throws. Each signal is received when its fact happened. */
export async function lookBack(request: LookBackRequest, client: GithubAsker): Promise<Look> {
  const { source, repository, since } = request;
  if (source.kind === 'github' && !hasCredentials(source) && source.baseUrl === null) {
    const isLocal = parseGitLocation(repository.url).kind !== 'remote';
    if (isLocal) return { kind: 'failed', outcome: 'denied', detail: ONLY_TELLS, until: null };
  }
  const asker = new AskOnce(client);
  const recalled = source.kind === 'git' ? await recallByGit(request) : await recallAtGithub(request, asker);
  if (recalled.kind === 'failed') return recalled;
  const look = await lookAt({ ...request, memory: recalled.memory, validators: {}, isRecalled: true }, asker);
  if (look.kind === 'failed') return look;
  const detail = recalled.detail ?? look.detail;
  const at = (signal: Signal): Date =>
    signal.emittedAt ?? recalled.commitDates.get(signal.inputVersion ?? '') ?? request.now;
  return {
    ...look,
    detail,
    isWhole: look.isWhole && recalled.detail === null,
    until: look.until ?? recalled.until,
    changes: look.changes.map((change) => ({
      ...change,
      signals: change.signals
        .map((signal) => ({ ...signal, receivedAt: at(signal) }))
        .filter(({ receivedAt }) => receivedAt.getTime() >= since.getTime()),
    })),
  };
}

const ONLY_TELLS = 'Its repository is on this machine, and it has no baseUrl: only its hook tells of it.';
