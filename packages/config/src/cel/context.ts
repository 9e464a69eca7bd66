import type { ObservationFacts, Signal } from '@headgate/domain';

/** What an expression may read of the repository; the ids are the forge's, stable under rename. */
export interface RepositoryFacts {
  readonly id: string;
  readonly name: string;
  readonly owner: string | null;
  readonly fullName: string;
  readonly defaultBranch: string | null;
}

export interface TargetFacts {
  readonly kind: string;
  readonly id: string;
  readonly ref: string | null;
  readonly aspect: string | null;
}

/** A person's command in a comment; both empty where there is none, so that a condition may always compare. */
export interface CommandFacts {
  readonly name: string;
  readonly argument: string;
}

/** The four roots of every condition and template. */
export interface ExpressionContext {
  /** The payload as the source sent it. Null for a schedule and a person. */
  readonly event: unknown;
  readonly repository: RepositoryFacts | null;
  readonly target: TargetFacts | null;
  readonly command: CommandFacts;
}

/** Roots and their fields where the shape is ours, so that a typing error is found when the file is read. */
export type Roots = Readonly<Record<string, readonly string[] | null>>;

const REPOSITORY_FIELDS = ['id', 'name', 'owner', 'fullName', 'defaultBranch'];

/** What a `when` and a template read. */
export const SIGNAL_ROOTS: Roots = {
  event: null,
  repository: REPOSITORY_FIELDS,
  target: ['kind', 'id', 'ref', 'aspect'],
  command: ['name', 'argument'],
};

/** What the `until` of a goal reads. */
export const GOAL_ROOTS: Roots = {
  observation: ['kind', 'exitCode', 'output', 'status', 'body', 'json', 'version', 'ref'],
  repository: REPOSITORY_FIELDS,
};

export interface GoalContext {
  readonly observation: ObservationFacts;
  readonly repository: RepositoryFacts | null;
}

export function goalContext(
  observation: ObservationFacts,
  repository: NonNullable<Signal['repository']> | null,
): GoalContext {
  return { observation, repository: repository === null ? null : repositoryFacts(repository) };
}

export function expressionContext(signal: Signal): ExpressionContext {
  return {
    event: signal.data ?? null,
    repository: signal.repository && repositoryFacts(signal.repository),
    target: signal.target && {
      kind: signal.target.kind,
      id: signal.target.id,
      ref: signal.target.ref,
      aspect: signal.target.aspect,
    },
    command: { name: signal.command?.name ?? '', argument: signal.command?.argument ?? '' },
  };
}

function repositoryFacts({
  externalId,
  fullName,
  defaultBranch,
}: NonNullable<Signal['repository']>): RepositoryFacts {
  const slash = fullName.lastIndexOf('/');
  return {
    id: externalId,
    name: fullName.slice(slash + 1),
    owner: slash < 0 ? null : fullName.slice(0, slash),
    fullName,
    defaultBranch,
  };
}
