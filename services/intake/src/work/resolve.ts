/**
 * From a person's request to a signal: which repository, which target, at which version. What is left out is filled
 * in: the route's only repository, the repository as a whole, its head.
 */
import type { Policy, RepositoryRef, RoutePolicy, TargetRef, Verdict } from '@headgate/domain';
import type { Heads } from '../repositories/heads.js';
import {
  type ReachedRepository,
  reachedBy,
  repositoryRef,
  wholeRepository,
} from '../repositories/reached.js';
import type { WorkRequest } from './request-body.js';

export type Resolved =
  | {
      readonly kind: 'resolved';
      readonly repository: RepositoryRef | null;
      readonly target: TargetRef | null;
      readonly inputVersion: string | null;
      /** Null: routing and state decide. */
      readonly verdict: Verdict | null;
    }
  /** The source does not answer: nothing can be decided. */
  | { readonly kind: 'unavailable'; readonly detail: string };

export async function resolveWork(
  request: WorkRequest,
  route: RoutePolicy | null,
  policy: Policy,
  heads: Heads,
): Promise<Resolved> {
  // Without a route nothing is asked of any source: the receipt says that there is none.
  if (route === null) return settled(null, null, null);
  const found = chosenRepository(request, reachedBy(route, policy));
  if (found.kind === 'refused') return { ...settled(null, null, null), verdict: found.verdict };
  if (found.reached === null) {
    const plain = settled(null, null, request.inputVersion ?? null);
    if (request.target == null) return plain;
    return { ...plain, verdict: invalid('The route works on no repository, so there is no target in one.') };
  }
  const repository = repositoryRef(found.reached);
  const target = targetOf(request, repository);
  if (request.inputVersion != null) return settled(repository, target, request.inputVersion);
  const reading = await heads.read(found.reached, repository, target);
  switch (reading.kind) {
    case 'head':
      return settled(repository, target, reading.sha);
    case 'issue':
      return settled(repository, target, reading.contentVersion);
    case 'unavailable':
    case 'disagrees':
      return { kind: 'unavailable', detail: reading.detail };
    case 'changed':
      return { ...settled(repository, target, null), verdict: invalid(reading.detail) };
    case 'closed':
      return { ...settled(repository, target, null), verdict: noWork(reading.reason) };
    case 'gone':
      return {
        ...settled(repository, target, null),
        verdict: invalid(reading.detail ?? missing(repository, target)),
      };
  }
}

type Chosen =
  | { readonly kind: 'chosen'; readonly reached: ReachedRepository | null }
  | { readonly kind: 'refused'; readonly verdict: Verdict };

function chosenRepository({ repository }: WorkRequest, reached: readonly ReachedRepository[]): Chosen {
  if (repository == null) {
    const [only = null, ...others] = reached;
    if (others.length === 0) return { kind: 'chosen', reached: only };
    const names = reached.map((one) => one.repository.fullName).slice(0, 5);
    return {
      kind: 'refused',
      verdict: invalid(
        `The route works on ${reached.length} repositories; name one: ${names.join(', ')}${reached.length > 5 ? ', …' : ''}.`,
      ),
    };
  }
  const wanted = repository.toLowerCase();
  const found = reached.find((one) => one.repository.fullName.toLowerCase() === wanted);
  if (found !== undefined) return { kind: 'chosen', reached: found };
  return {
    kind: 'refused',
    verdict: {
      outcome: 'reject',
      reasonCode: 'OUT_OF_SCOPE',
      detail: `The route does not work on repository "${repository}", or no source configures it.`,
      retryAfter: null,
      rule: 'route.repositories',
    },
  };
}

function targetOf({ target }: WorkRequest, repository: RepositoryRef): TargetRef {
  if (target == null || target.kind === 'repository' || target.id === undefined) {
    return wholeRepository(repository);
  }
  const ref = target.ref ?? (target.kind === 'branch' ? target.id : null);
  return { kind: target.kind, id: target.id, ref, aspect: null };
}

const settled = (repository: RepositoryRef | null, target: TargetRef | null, inputVersion: string | null) =>
  ({ kind: 'resolved', repository, target, inputVersion, verdict: null }) as const;

const invalid = (detail: string): Verdict => ({
  outcome: 'reject',
  reasonCode: 'TASK_CONTRACT_INVALID',
  detail,
  retryAfter: null,
});

const noWork = (detail: string): Verdict => ({
  outcome: 'no-work',
  reasonCode: 'TARGET_CLOSED',
  detail,
  retryAfter: null,
});

const missing = ({ fullName }: RepositoryRef, { kind, id, ref }: TargetRef): string =>
  kind === 'repository'
    ? `${fullName} has no commit on ${ref ?? 'its default branch'}.`
    : `${fullName} has no ${kind.replace('_', ' ')} "${ref ?? id}".`;
