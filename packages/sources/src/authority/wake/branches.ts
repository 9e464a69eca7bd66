/** Pushes and new branches: where a ref stands now. */
import { at, type Item, textAt } from '../../github/fields.js';
import type { NotRead } from '../readout.js';
import {
  type EventReader,
  type EventSource,
  type Found,
  otherwise,
  payloadOf,
  unresolved,
} from './event-source.js';

const REF = /^refs\/((?:heads|tags)\/.+)$/;

/** Which commits it brought is not asked: a push to a branch may be one of many since. */
export const readPush: EventReader = async (source, { payload }) => {
  const ref = textAt(payload, 'ref');
  const place = ref === null ? null : (REF.exec(ref)?.[1] ?? null);
  if (ref === null || place === null) return unresolved('The event names no branch or tag.');
  const found = await source.one('git', 'ref', ...place.split('/'));
  if (found.kind !== 'found') return found;
  const sha = textAt(found.value, 'object', 'sha');
  if (sha === null) return unresolved(`GitHub does not say at which commit ${ref} stands.`);
  const head = await headCommit(source, sha);
  if (head.kind !== 'found') return head;
  return payloadOf({
    ref,
    after: sha,
    created: false,
    deleted: false,
    head_commit: head.value,
    sender: null,
  });
};

/** As a push tells it: the message, and who committed. An annotated tag stands at an object that is no commit. */
async function headCommit(source: EventSource, sha: string): Promise<Found | NotRead> {
  const found = await source.one('commits', sha);
  if (found.kind === 'closed') return { kind: 'found', value: { id: sha } };
  if (found.kind !== 'found') return found;
  const value: Item = {
    id: sha,
    message: textAt(found.value, 'commit', 'message'),
    committer: { username: textAt(found.value, 'committer', 'login') },
  };
  return { kind: 'found', value };
}

export const readCreated: EventReader = async (source, { payload }) => {
  const name = refNameOf(payload);
  if (name === null) return unresolved('The event names no branch or tag.');
  const found = await source.one('git', 'ref', ...name.place);
  if (found.kind !== 'found') return found;
  return payloadOf({ ...name.told, object: at(found.value, 'object') ?? null, sender: null });
};

export const readDeleted: EventReader = async (source, { payload }) => {
  const name = refNameOf(payload);
  if (name === null) return unresolved('The event names no branch or tag.');
  const found = await source.one('git', 'ref', ...name.place);
  if (found.kind === 'found') return otherwise(`${name.told.ref} is there.`);
  return found.kind === 'closed' ? payloadOf({ ...name.told, sender: null }) : found;
};

function refNameOf(payload: unknown) {
  const [ref, type] = [textAt(payload, 'ref'), textAt(payload, 'ref_type')];
  if (ref === null || (type !== 'branch' && type !== 'tag')) return null;
  const place = [type === 'branch' ? 'heads' : 'tags', ...ref.split('/')];
  return { told: { ref, ref_type: type }, place };
}
