/**
 * What a GitHub payload tells that routes are narrowed by. Read leniently: what is missing is not told (null).
 *
 * Whose doing an event is: of a comment or review the writer, of a pull request or issue its author, of a push the
 * pusher, of a workflow run who started it. A check is sent by the app that ran it, which says nothing of the change
 * it is about: its author is not told, and the read before the lease looks at the pull request's.
 */
import { type EventFacts, NO_FACTS_TOLD, type Signal } from '@headgate/domain';
import { at, type Payload, textAt } from './fields.js';
import { branchOfRef } from './reading.js';

/** GitHub lists at most so many commits of a push; a longer push has changed more files than are told. */
const MOST_COMMITS_TOLD = 2_048;

export function githubFactsOf(event: string, signal: Signal): EventFacts {
  const { data } = signal;
  if (typeof data !== 'object' || data === null) return NO_FACTS_TOLD;
  const payload = data as Payload;
  const pull = pullOf(payload);
  return {
    topics: textsAt(payload, 'repository', 'topics'),
    properties: propertiesOf(payload),
    branch: branchOf(payload, pull),
    labels: labelsOf(at(pull ?? payload['issue'], 'labels')),
    author: authorOf(payload, event),
    association: associationOf(payload),
    isFork: isForkOf(payload, pull),
    isDraft: booleanAt(pull, 'draft'),
    paths: pathsRead(signal) ?? (event === 'push' ? pathsOf(payload) : null),
  };
}

/** The pull request itself; a check's list has only its branches. */
function pullOf(payload: Payload): unknown {
  const pull = payload['pull_request'];
  return typeof pull === 'object' && pull !== null ? pull : null;
}

function branchOf(payload: Payload, pull: unknown): string | null {
  const base = textAt(pull, 'base', 'ref');
  if (base !== null) return base;
  for (const check of ['check_run', 'check_suite', 'workflow_run'] as const) {
    const found = payload[check];
    if (found === undefined) continue;
    const pulls = at(found, 'pull_requests');
    const [first, ...others] = Array.isArray(pulls) ? pulls : [];
    if (first !== undefined && others.length === 0) return textAt(first, 'base', 'ref');
    return textAt(found, 'head_branch') ?? textAt(found, 'check_suite', 'head_branch');
  }
  return branchOfRef(textAt(payload, 'ref')) ?? textAt(payload, 'workflow_job', 'head_branch');
}

const TALK = ['comment', 'review'] as const;

function authorOf(payload: Payload, event: string): EventFacts['author'] {
  for (const part of TALK) {
    const writer = personAt(payload, part, 'user');
    if (writer !== null) return writer;
  }
  const author = personAt(payload, 'pull_request', 'user') ?? personAt(payload, 'issue', 'user');
  if (author !== null) return author;
  if (event === 'workflow_run') return personAt(payload, 'workflow_run', 'actor');
  if (event.startsWith('check_') || event === 'status' || event === 'workflow_job') return null;
  return personAt(payload, 'sender');
}

function personAt(payload: unknown, ...path: readonly string[]): EventFacts['author'] {
  const login = textAt(payload, ...path, 'login');
  return login === null ? null : { login, isBot: textAt(payload, ...path, 'type') === 'Bot' };
}

function associationOf(payload: Payload): string | null {
  for (const part of [...TALK, 'pull_request', 'issue']) {
    const association = textAt(payload, part, 'author_association');
    if (association !== null) return association;
  }
  return null;
}

/** A pull request whose head lies in another repository, or in none any more. */
function isForkOf(payload: Payload, pull: unknown): boolean | null {
  if (pull !== null) {
    const base = at(pull, 'base', 'repo', 'id');
    return base === undefined ? null : at(pull, 'head', 'repo', 'id') !== base;
  }
  const head = at(payload, 'workflow_run', 'head_repository', 'id');
  const here = at(payload, 'repository', 'id');
  return head === undefined || here === undefined ? null : head !== here;
}

function pathsOf(payload: Payload): readonly string[] | null {
  const commits = payload['commits'];
  if (!Array.isArray(commits) || commits.length === 0 || commits.length >= MOST_COMMITS_TOLD) return null;
  const files = commits.map((commit) =>
    ['added', 'modified', 'removed'].map((list) => textsAt(commit, list)),
  );
  if (files.some((lists) => lists.every((list) => list === null))) return null;
  return [...new Set(files.flat().flatMap((list) => list ?? []))];
}

/** A list that was cut says nothing of the files behind its end. */
const pathsRead = ({ changedFiles }: Signal): readonly string[] | null =>
  changedFiles?.isWhole === true ? changedFiles.paths : null;

function labelsOf(labels: unknown): readonly string[] | null {
  if (!Array.isArray(labels)) return null;
  return labels.flatMap((label) => textAt(label, 'name') ?? []);
}

function propertiesOf(payload: Payload): EventFacts['properties'] {
  const found = at(payload, 'repository', 'custom_properties');
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return null;
  return Object.fromEntries(
    Object.entries(found).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

function textsAt(payload: unknown, ...path: readonly string[]): readonly string[] | null {
  const list = at(payload, ...path);
  return Array.isArray(list) ? list.filter((item) => typeof item === 'string') : null;
}

function booleanAt(payload: unknown, ...path: readonly string[]): boolean | null {
  const value = at(payload, ...path);
  return typeof value === 'boolean' ? value : null;
}
