/**
 * Makes a sample speak of another repository: every repository becomes the given one, every head the given branch
 * and commit, every base the default branch, and all times move so that the event happened at `at`.
 *
 * Positions decide (a `head_sha` is a head, a `base.sha` a base); the old names found there are then replaced
 * wherever else they stand in texts and URLs. Ids of people, checks and pull requests stay.
 */
import { instantAt } from '../github/fields.js';
import type { Sample } from './catalogue.js';

export interface SampleSubject {
  readonly repository: { readonly id: number; readonly fullName: string; readonly defaultBranch: string };
  readonly branch: string;
  readonly headSha: string;
  /** The commit before the head; null when there was none. */
  readonly baseSha: string | null;
  readonly at: Date;
}

type Json = Readonly<Record<string, unknown>>;

export function rewriteSample(sample: Sample, subject: SampleSubject): Json {
  const names = replacementsIn(sample.payload, subject);
  const shift = timeShift(sample, subject.at);
  return rewriteObject(sample.payload, [], { subject, names, shift });
}

interface Rewriting {
  readonly subject: SampleSubject;
  /** Old text to new text, longest first. */
  readonly names: readonly (readonly [string, string])[];
  readonly shift: (ms: number) => number;
}

type Path = readonly string[];

function rewriteObject(node: Json, path: Path, rewriting: Rewriting): Json {
  const entries = Object.entries(node).map(([key, value]) => {
    const step = [...path, key];
    return [key, replacementAt(node, step, value, rewriting) ?? rewriteValue(value, step, rewriting)];
  });
  const copy: Json = Object.fromEntries(entries);
  return isRepository(node, path) ? withRepository(copy, rewriting.subject) : copy;
}

function rewriteValue(value: unknown, path: Path, rewriting: Rewriting): unknown {
  if (typeof value === 'string') return rewriteText(value, rewriting);
  if (Array.isArray(value)) return value.map((it) => rewriteValue(it, path, rewriting));
  return isObject(value) ? rewriteObject(value, path, rewriting) : value;
}

/** What this position must hold; undefined where the position says nothing. */
function replacementAt(parent: Json, path: Path, value: unknown, { subject, shift }: Rewriting): unknown {
  const role = roleOf(parent, path, value);
  const key = path.at(-1);
  if (role === 'head-sha') return subject.headSha;
  if (role === 'base-sha') return subject.baseSha ?? '0'.repeat(subject.headSha.length);
  if (role === 'head-branch') return subject.branch;
  if (role === 'head-ref') return `refs/heads/${subject.branch}`;
  if (role === 'base-branch') return subject.repository.defaultBranch;
  if (role === 'base-ref') return `refs/heads/${subject.repository.defaultBranch}`;
  if (typeof value === 'number' && (key === 'pushed_at' || key === 'created_at')) {
    return Math.floor(shift(value * 1000) / 1000);
  }
  return undefined;
}

type Role = 'head-sha' | 'base-sha' | 'head-branch' | 'head-ref' | 'base-branch' | 'base-ref';

const SHA = /^[0-9a-f]{40}$/;
const NO_SHA = /^0+$/;
const HEAD_SHA_KEYS = new Set([
  'head_sha',
  'after',
  'commit_id',
  'original_commit_id',
  'commit_oid',
  'commit_sha',
]);
const BASE_SHA_KEYS = new Set(['before', 'base_sha']);
const BASE_BRANCH_KEYS = new Set(['default_branch', 'master_branch']);

function roleOf(parent: Json, path: Path, value: unknown): Role | undefined {
  if (typeof value !== 'string') return undefined;
  const [holder, key = ''] = path.length > 1 ? path.slice(-2) : [undefined, path[0]];
  if (SHA.test(value) && !NO_SHA.test(value)) {
    if (HEAD_SHA_KEYS.has(key)) return 'head-sha';
    if (BASE_SHA_KEYS.has(key) || (key === 'sha' && holder === 'base')) return 'base-sha';
    const isCommit =
      holder === undefined || holder === 'head' || holder === 'commit' || holder === 'deployment';
    if (key === 'sha' && isCommit) return 'head-sha';
    return key === 'id' && (holder === 'head_commit' || holder === 'commits') ? 'head-sha' : undefined;
  }
  if (BASE_BRANCH_KEYS.has(key)) return 'base-branch';
  if (key === 'head_branch' || (key === 'name' && holder === 'branches')) return 'head-branch';
  if (key === 'base_ref' && value.startsWith('refs/heads/')) return 'base-ref';
  if (key === 'head_ref' && value.startsWith('refs/heads/')) return 'head-ref';
  if (key !== 'ref') return undefined;
  if (value.startsWith('refs/heads/')) return 'head-ref';
  if (holder === 'base') return 'base-branch';
  if (holder === 'head' || holder === 'deployment') return 'head-branch';
  return parent['ref_type'] === 'branch' ? 'head-branch' : undefined;
}

/** Whole repositories, and the short form inside `pull_requests[]`. */
const isRepository = (node: Json, path: Path): boolean =>
  typeof node['id'] === 'number' &&
  (typeof node['full_name'] === 'string' || (path.at(-1) === 'repo' && typeof node['name'] === 'string'));

function withRepository(node: Json, { repository }: SampleSubject): Json {
  const [owner = '', name = ''] = splitName(repository.fullName);
  const fields: Record<string, unknown> = { ...node, id: repository.id, name };
  if ('full_name' in node) fields['full_name'] = repository.fullName;
  const had = node['owner'];
  if (isObject(had)) {
    fields['owner'] = { ...had, login: owner, ...('name' in had ? { name: owner } : {}) };
  }
  return fields;
}

const splitName = (fullName: string): readonly string[] => {
  const slash = fullName.indexOf('/');
  return [fullName.slice(0, slash), fullName.slice(slash + 1)];
};

/** Collects what the positions call by the old names. */
function replacementsIn(payload: Json, subject: SampleSubject): readonly (readonly [string, string])[] {
  const found = new Map<string, string>();
  const visit = (value: unknown, path: Path): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, path);
    if (!isObject(value)) return;
    if (isRepository(value, path)) {
      const old = value['full_name'] ?? fullNameOfUrl(value['url']);
      if (typeof old === 'string') found.set(old, subject.repository.fullName);
    }
    for (const [key, item] of Object.entries(value)) {
      const role = roleOf(value, [...path, key], item);
      if (role === 'head-sha' || role === 'base-sha') noteSha(String(item), role, subject, found);
      visit(item, [...path, key]);
    }
  };
  visit(payload, []);
  return [...found].sort(([a], [b]) => b.length - a.length);
}

/** Compare URLs hold the first twelve digits. A commit that is both head and base is called by what the head became. */
const SHORT_SHA = 12;

function noteSha(
  old: string,
  role: 'head-sha' | 'base-sha',
  subject: SampleSubject,
  found: Map<string, string>,
) {
  const now = role === 'head-sha' ? subject.headSha : (subject.baseSha ?? '0'.repeat(old.length));
  if (role === 'base-sha' && found.has(old)) return;
  found.set(old, now);
  found.set(old.slice(0, SHORT_SHA), now.slice(0, SHORT_SHA));
}

const fullNameOfUrl = (url: unknown): string | undefined =>
  typeof url === 'string' ? /\/repos\/([^/]+\/[^/]+)$/.exec(url)?.[1] : undefined;

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

function rewriteText(text: string, { names, shift }: Rewriting): string {
  if (TIMESTAMP.test(text)) return new Date(shift(Date.parse(text))).toISOString().replace(/\.\d+Z$/, 'Z');
  return names.reduce((result, [old, now]) => result.replaceAll(old, () => now), text);
}

/** Moves the event's own time to `at`, everything else along with it, and nothing beyond. */
function timeShift(sample: Sample, at: Date): (ms: number) => number {
  const subject = sample.payload[sample.event] ?? sample.payload['comment'] ?? sample.payload['review'];
  const own = ['completed_at', 'submitted_at', 'updated_at', 'started_at', 'created_at']
    .map((field) => instantAt(subject, field))
    .find((it) => it !== null);
  const anchor = own ?? instantAt(sample.payload, 'repository', 'pushed_at') ?? at;
  const offset = at.getTime() - anchor.getTime();
  return (ms) => Math.min(ms + offset, at.getTime());
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
