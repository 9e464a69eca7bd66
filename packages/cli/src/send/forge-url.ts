/** What a person pasted from their browser, as a request for work: a pull request, an issue, a commit, a branch. */
import type { WorkRequest } from '@headgate/sdk';

export type ForgePlace = Pick<WorkRequest, 'repository' | 'target' | 'inputVersion'>;

const REPOSITORY = /^[A-Za-z0-9_.-]+\/[A-Za-z0-9_.-]+$/;
const NUMBER = /^\d{1,15}$/;
const SHA = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i;

/** Null: no URL of a pull request, issue, commit or branch. Nothing is fetched. */
export function forgePlace(text: string): ForgePlace | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return null;
  const [owner, name, section, id, subsection, subId] = url.pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);
  const repository = `${owner}/${name?.replace(/\.git$/, '')}`;
  if (owner === undefined || name === undefined || id === undefined || !REPOSITORY.test(repository))
    return null;
  if (section === 'pull' && NUMBER.test(id)) {
    const target = { kind: 'pull_request', id } as const;
    // A commit of a pull request: exactly that one, so that a moved head is noticed.
    return subsection === 'commits' && subId !== undefined && SHA.test(subId)
      ? { repository, target, inputVersion: subId.toLowerCase() }
      : { repository, target };
  }
  if (section === 'issues' && NUMBER.test(id)) return { repository, target: { kind: 'issue', id } };
  if (section === 'commit' && SHA.test(id)) {
    return { repository, inputVersion: id.toLowerCase() };
  }
  if (section !== 'tree') return null;
  const branch = url.pathname.split('/').slice(4).map(decoded).join('/');
  return { repository, target: { kind: 'branch', id: branch } };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
