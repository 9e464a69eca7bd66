/**
 * What `.headgate.yaml` says about a candidate: the route narrowed, opted out, or a wait. Never an old or an empty file
 * in place of one that could not be read, and nothing is read here: what is not fresh in the database waits as a
 * deferred signal until the reconciler has read it.
 */
import { type RepositoryFileReading, readRepositoryFile } from '@headgate/config';
import { type Candidate, narrowRoute, type Verdict } from '@headgate/domain';
import type { RepositoryFileRow } from '@headgate/store';
import type { AskedFile, Prepared } from './prepare.js';

/** How old a reading may be. A push to the default branch makes it old at once. */
const FRESH_MS = 300_000;
/** How long a broken file is taken for broken before it is looked at again. */
const BROKEN_MS = 60_000;
/** When a signal looks again by itself; the reading that it waits for releases it before. */
const PENDING_RETRY_MS = 60_000;
const BROKEN_RETRY_MS = 3_600_000;

/** @param row what the database has of the file; undefined: nothing yet. */
export function withFile(prepared: Prepared, row: RepositoryFileRow | undefined, now: Date): Prepared {
  const { file, candidate } = prepared;
  const { route } = candidate;
  if (file === null || route === null) return prepared;
  const asked: AskedFile = { ...file, fileId: row?.id ?? null };
  const state = stateOf(row);
  switch (state.kind) {
    case 'pending':
      return { ...waiting(prepared, pending(now)), file: { ...asked, isRequested: true } };
    case 'broken':
      return { ...waiting(prepared, broken(state.detail, now)), file: asked };
    case 'absent':
      return { ...prepared, file: asked };
    case 'found': {
      const { blobSha, reading } = state;
      const seen = { ...asked, blobSha };
      if (!reading.ok) return { ...waiting(prepared, broken(reading.detail, now)), file: seen };
      const narrowing = narrowRoute(route, reading.file);
      if (narrowing.kind === 'optedOut') {
        return { ...waiting(prepared, optedOut(narrowing.rule)), file: seen };
      }
      const { route: narrowed, leftOut } = narrowing;
      return { ...prepared, candidate: { ...candidate, route: narrowed }, file: { ...seen, leftOut } };
    }
  }
}

type FileState =
  | { readonly kind: 'pending' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'broken'; readonly detail: string }
  | { readonly kind: 'found'; readonly blobSha: string; readonly reading: RepositoryFileReading };

function stateOf(row: RepositoryFileRow | undefined): FileState {
  if (row === undefined || row.ageMs === null || row.state === 'unread') return { kind: 'pending' };
  if (row.state === 'unreadable') {
    return row.ageMs > BROKEN_MS
      ? { kind: 'pending' }
      : { kind: 'broken', detail: row.detail ?? 'It could not be read.' };
  }
  if (row.ageMs > FRESH_MS) return { kind: 'pending' };
  if (row.state === 'absent') return { kind: 'absent' };
  if (row.blobSha === null || row.text === null) return { kind: 'pending' };
  return { kind: 'found', blobSha: row.blobSha, reading: readingOf(row.blobSha, row.text) };
}

/** By blob: the same bytes mean the same. */
const readings = new Map<string, RepositoryFileReading>();
const REMEMBERED = 1_000;

function readingOf(blobSha: string, text: string): RepositoryFileReading {
  const known = readings.get(blobSha);
  if (known !== undefined) return known;
  if (readings.size >= REMEMBERED) readings.clear();
  const reading = readRepositoryFile(text);
  readings.set(blobSha, reading);
  return reading;
}

const waiting = (prepared: Prepared, verdict: Verdict): Prepared => {
  const candidate: Candidate = { ...prepared.candidate, verdict };
  return { ...prepared, candidate };
};

const pending = (now: Date): Verdict => ({
  outcome: 'defer',
  reasonCode: 'REPOSITORY_CONFIG_PENDING',
  detail: null,
  retryAfter: new Date(now.getTime() + PENDING_RETRY_MS),
  rule: 'headgate.yaml',
});

const broken = (detail: string, now: Date): Verdict => ({
  outcome: 'defer',
  reasonCode: 'REPOSITORY_CONFIG_INVALID',
  detail,
  retryAfter: new Date(now.getTime() + BROKEN_RETRY_MS),
  rule: 'headgate.yaml',
});

const optedOut = (rule: string): Verdict => ({
  outcome: 'reject',
  reasonCode: 'OUT_OF_SCOPE',
  detail: 'The repository has opted out in its .headgate.yaml.',
  retryAfter: null,
  rule,
});
