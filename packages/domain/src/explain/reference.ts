/**
 * What a person pasted: a delivery id, an id of ours, a work key, `owner/repo#7`, a URL of the forge, a SHA. A text
 * may be several of these; each reading is tried in turn, the surest first. Nothing here is ever fetched.
 */
import { type GoalId, parseId, type ReceiptId, type RunId, type ScheduleId, type TaskId } from '../ids.js';

/** One reading of a reference: what to look for. */
export type Reading =
  | { readonly kind: 'receipt'; readonly receiptId: ReceiptId }
  | { readonly kind: 'run'; readonly runId: RunId }
  | { readonly kind: 'task'; readonly taskId: TaskId }
  | { readonly kind: 'schedule'; readonly scheduleId: ScheduleId }
  | { readonly kind: 'goal'; readonly goalId: GoalId }
  /** `eventId` as given; stored ones may have the hook's id before it (`<hook>/<GUID>`). */
  | { readonly kind: 'delivery'; readonly eventId: string }
  | { readonly kind: 'workKey'; readonly workKey: string }
  /** A pull request, issue or branch; `repository` null = any. */
  | { readonly kind: 'target'; readonly repository: string | null; readonly targetId: string }
  | { readonly kind: 'repository'; readonly repository: string }
  /** Lower-case hex, 7 to 64 characters: a whole SHA or how one begins. */
  | { readonly kind: 'sha'; readonly prefix: string; readonly repository: string | null };

/** Longest reference that is looked at. */
export const MAX_REFERENCE_CHARACTERS = 2_048;

const SHA = /^[0-9a-f]{7,64}$/i;
const NAME = '[A-Za-z0-9][A-Za-z0-9._-]*';
const TARGET = new RegExp(`^(${NAME}/${NAME})#(\\d{1,15})$`);
const COMMIT = new RegExp(`^(${NAME}/${NAME})@([0-9a-fA-F]{7,64})$`);
const REPOSITORY = new RegExp(`^${NAME}/${NAME}$`);

/** Every reading of the text, the surest first. Empty only for an empty text. */
export function readReference(text: string): readonly Reading[] {
  const ref = text.trim().slice(0, MAX_REFERENCE_CHARACTERS);
  if (ref === '') return [];
  const own = readOwnId(ref);
  if (own !== null) return [own];
  if (/^https?:\/\//i.test(ref)) return [...readUrl(ref), ...asText(ref)];
  const target = TARGET.exec(ref);
  if (target !== null) {
    const [, repository = '', targetId = ''] = target;
    return [{ kind: 'target', repository, targetId }, ...asText(ref)];
  }
  const commit = COMMIT.exec(ref);
  if (commit !== null) {
    const [, repository = '', sha = ''] = commit;
    return [{ kind: 'sha', prefix: sha.toLowerCase(), repository }, ...asText(ref)];
  }
  const number = /^#(\d{1,15})$/.exec(ref);
  if (number !== null) return [{ kind: 'target', repository: null, targetId: number[1] ?? '' }];
  const readings: Reading[] = [...asText(ref)];
  if (SHA.test(ref)) readings.push({ kind: 'sha', prefix: ref.toLowerCase(), repository: null });
  if (REPOSITORY.test(ref)) readings.push({ kind: 'repository', repository: ref });
  return readings;
}

function readOwnId(ref: string): Reading | null {
  const receiptId = parseId('rcpt', ref);
  if (receiptId !== null) return { kind: 'receipt', receiptId };
  const runId = parseId('run', ref);
  if (runId !== null) return { kind: 'run', runId };
  const taskId = parseId('task', ref);
  if (taskId !== null) return { kind: 'task', taskId };
  const scheduleId = parseId('sch', ref);
  if (scheduleId !== null) return { kind: 'schedule', scheduleId };
  const goalId = parseId('goal', ref);
  return goalId === null ? null : { kind: 'goal', goalId };
}

/** Anything may be a work key, which is opaque, or an event id. */
const asText = (ref: string): readonly Reading[] => [
  { kind: 'delivery', eventId: ref },
  { kind: 'workKey', workKey: ref },
];

/** `https://host/owner/repo/pull/7`, `/issues/7`, `/commit/sha`, `/tree/branch`; also a page of our own console. */
function readUrl(ref: string): readonly Reading[] {
  let url: URL;
  try {
    url = new URL(ref);
  } catch {
    return [];
  }
  const parts = url.pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);
  for (const part of parts) {
    const own = readOwnId(part);
    if (own !== null) return [own];
  }
  const [owner, name, section, id, subsection, subId] = parts;
  if (owner === undefined || name === undefined) return [];
  const repository = `${owner}/${name.replace(/\.git$/, '')}`;
  if (!REPOSITORY.test(repository)) return [];
  const whole: Reading = { kind: 'repository', repository };
  if (section === undefined || id === undefined) return [whole];
  if (section === 'pull' || section === 'issues') {
    if (subsection === 'commits' && subId !== undefined && SHA.test(subId)) {
      return [{ kind: 'sha', prefix: subId.toLowerCase(), repository }];
    }
    return /^\d{1,15}$/.test(id) ? [{ kind: 'target', repository, targetId: id }] : [whole];
  }
  if ((section === 'commit' || section === 'commits' || section === 'tree') && SHA.test(id)) {
    return [{ kind: 'sha', prefix: id.toLowerCase(), repository }];
  }
  if (section === 'tree') return [{ kind: 'target', repository, targetId: parts.slice(3).join('/') }];
  return [whole];
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
