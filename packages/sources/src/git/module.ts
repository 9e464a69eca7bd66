import { textAt } from '../github/fields.js';
import { readJsonBody } from '../json/body.js';
import { envelopeOf, malformed } from '../kinds/envelope.js';
import type { RecordedMessage } from '../kinds/recorded.js';
import type { HookReading, SourceModule } from '../kinds/source-module.js';
import { GIT_PUSH, pushOf } from './push.js';

/** What a look found: a branch at a commit, of a repository that the source still has. */
function reread({ source, body, eventId, receivedAt }: RecordedMessage): HookReading {
  const found = readJsonBody(body);
  const data = found.kind === 'object' ? found.value : null;
  const name = textAt(data, 'repository')?.toLowerCase();
  const repository = source.repositories.find(({ fullName }) => fullName.toLowerCase() === name);
  const [ref, sha] = [textAt(data, 'ref'), textAt(data, 'after')];
  if (repository === undefined || ref === null || sha === null) {
    const envelope = envelopeOf({ source, receivedAt, traceparent: null }, { eventId, type: GIT_PUSH });
    return malformed(envelope, 'It names no repository of the source, or no branch and commit.');
  }
  const branch = ref.replace(/^refs\/heads\//, '');
  const before = textAt(data, 'before');
  return { kind: 'signal', signal: pushOf({ source, repository, branch, sha, before, seenAt: receivedAt }) };
}

/** A repository that only git reaches: nobody tells us, so its branches are looked at. */
export const git: SourceModule = { kind: 'git', hook: null, reread, judge: () => null };
