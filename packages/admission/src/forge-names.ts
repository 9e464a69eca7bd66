/**
 * Names follow numbers: a repository that its forge has renamed or moved stays the one that the configuration names.
 *
 * Beside the decisions, in a statement of its own before them: what an event tells of a repository is so whatever is
 * decided about the event, and is told again by the next one. What was told last is remembered here, so that a stream
 * of events about one repository writes nothing. A crash in between loses at most this memory.
 */
import type { Policy, Signal } from '@headgate/domain';
import { repositoryNews } from '@headgate/sources';
import { type ActivePolicy, type ForgeRepositoryRow, forgeRepositories, type Pool } from '@headgate/store';
import type { Submission } from './submission.js';
import { onlyWakes } from './wake.js';

/** More repositories than this at once are told again. */
const REMEMBERED = 10_000;

export class ForgeNames {
  readonly #pool: Pool;
  readonly #told = new Map<string, string>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** The submissions, each under the name that the configuration has for its repository. */
  async follow(submissions: readonly Submission[], active: ActivePolicy): Promise<readonly Submission[]> {
    await this.#tell(
      submissions.filter((one) => isTelling(one, active.policy)),
      active,
    );
    const strangers = submissions.filter(({ signal }) => isStranger(signal, active.policy));
    if (strangers.length === 0) return submissions;
    const keys = strangers.flatMap(({ signal, tenant }) => keyOf(signal, tenant, active) ?? []);
    const found = await this.#pool.use((c) => forgeRepositories.configuredNames(c, keys));
    const names = new Map(found.map((one) => [nameOf(one), one.configuredName]));
    return submissions.map((submission) => {
      const key = keyOf(submission.signal, submission.tenant, active);
      const name = key === null ? undefined : names.get(nameOf(key));
      const { repository } = submission.signal;
      return name === undefined || repository === null
        ? submission
        : { ...submission, signal: { ...submission.signal, repository: { ...repository, fullName: name } } };
    });
  }

  async #tell(submissions: readonly Submission[], active: ActivePolicy): Promise<void> {
    const rows = new Map<string, ForgeRepositoryRow>();
    for (const { signal, tenant } of submissions) {
      const tenantId = active.tenantIds.get(tenant);
      if (tenantId === undefined || signal.trigger !== 'event') continue;
      for (const news of repositoryNews(signal)) {
        const configuredName = configuredNameOf(signal.source, news.fullName, active.policy);
        const row = { tenantId, source: signal.source, configuredName, ...news };
        rows.set(nameOf(row), row);
      }
    }
    const fresh = [...rows].filter(([name, row]) => this.#told.get(name) !== JSON.stringify(row));
    if (fresh.length === 0) return;
    await this.#pool.use((c) =>
      forgeRepositories.put(
        c,
        fresh.map(([, row]) => row),
      ),
    );
    if (this.#told.size > REMEMBERED) this.#told.clear();
    for (const [name, row] of fresh) this.#told.set(name, JSON.stringify(row));
  }
}

/** Heard for the first time, and not from a payload that only wakes. */
function isTelling(submission: Submission, policy: Policy): boolean {
  if (submission.replays != null) return false;
  return submission.promotes == null ? !onlyWakes(submission, policy) : submission.promotes.wake === 'read';
}

type Key = Pick<ForgeRepositoryRow, 'tenantId' | 'source' | 'forgeId'>;

const nameOf = ({ tenantId, source, forgeId }: Key): string => `${tenantId}\u0000${source}\u0000${forgeId}`;

function keyOf({ repository, source }: Signal, tenant: string, active: ActivePolicy): Key | null {
  const tenantId = active.tenantIds.get(tenant);
  return repository === null || tenantId === undefined
    ? null
    : { tenantId, source, forgeId: repository.externalId };
}

function configuredNameOf(source: string, fullName: string, policy: Policy): string | null {
  const wanted = fullName.toLowerCase();
  const repositories = policy.sources.find((one) => one.id === source)?.repositories ?? [];
  return repositories.find((one) => one.fullName.toLowerCase() === wanted)?.fullName ?? null;
}

/** Of a source that names its repositories, under a name that it does not have. */
const isStranger = ({ repository, source, trigger }: Signal, policy: Policy): boolean =>
  trigger === 'event' &&
  repository !== null &&
  policy.sources.some((one) => one.id === source && one.repositories.length > 0) &&
  configuredNameOf(source, repository.fullName, policy) === null;
