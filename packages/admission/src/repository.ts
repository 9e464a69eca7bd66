/**
 * The repository of a signal as the configuration knows it: where git reaches it, and under which identity it is
 * counted and locked.
 *
 * A webhook names a repository by the forge's number, a tick and a person only by the configuration. Limits and
 * concurrency keys must not depend on who spoke, so a configured repository is identified by where it is; the
 * number remains the identity of one that no configuration names, and of the work keys.
 */
import type { Policy, Signal } from '@headgate/domain';
import { gitRepositoryId, hasCredentials } from '@headgate/sources';

export interface SignalRepository {
  /** The source that configures it, else the signal's. */
  readonly source: string;
  readonly identity: string;
  readonly fullName: string;
  /** Null: no configuration says where git reaches it. */
  readonly url: string | null;
  readonly defaultBranch: string | null;
}

/** Looks in the signal's own source first, then in the other sources of the tenant; never in another tenant's. */
export function repositoryOf(signal: Signal, tenant: string, policy: Policy): SignalRepository | null {
  const { repository } = signal;
  if (repository === null) return null;
  const wanted = repository.fullName.toLowerCase();
  const sources = policy.sources.filter((source) => source.tenant === tenant);
  const own = sources.filter((source) => source.id === signal.source);
  for (const source of [...own, ...sources]) {
    const found = source.repositories.find((one) => one.fullName.toLowerCase() === wanted);
    if (found === undefined) continue;
    return {
      source: source.id,
      identity: gitRepositoryId(found.url),
      fullName: found.fullName,
      url: found.url,
      defaultBranch: found.defaultBranch ?? repository.defaultBranch,
    };
  }
  return {
    source: signal.source,
    identity: repository.externalId,
    fullName: repository.fullName,
    url: null,
    defaultBranch: repository.defaultBranch,
  };
}

/** Whether its `.headgate.yaml` can be read: by git, or of one that is only known by its signals by the forge's API. */
export const isFileReadable = ({ url, source: id }: SignalRepository, { sources }: Policy): boolean =>
  url !== null || sources.some((source) => source.id === id && hasCredentials(source));
