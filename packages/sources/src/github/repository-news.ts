/** What events tell of repositories themselves: that they are there, renamed, moved, removed, suspended. */
import type { Signal } from '@headgate/domain';
import { z } from 'zod';
import { githubEventOf } from './events.js';
import { at, idAt, textAt } from './fields.js';

export interface RepositoryNews {
  /** The forge's number: the identity, whatever the name. */
  readonly forgeId: string;
  readonly fullName: string;
  readonly installationId: string | null;
  readonly isRemoved: boolean;
  readonly isSuspended: boolean;
}

const repository = z.object({ id: z.int().nonnegative(), full_name: z.string().min(1) });

/** Every repository that the event names, as it stands now. */
export function repositoryNews(signal: Signal): readonly RepositoryNews[] {
  const event = githubEventOf(signal.type);
  if (event === null) return [];
  const action = textAt(signal.data, 'action');
  const installationId = idAt(signal.data, 'installation', 'id');
  const told = (
    list: unknown,
    state: Pick<RepositoryNews, 'isRemoved' | 'isSuspended'>,
  ): readonly RepositoryNews[] =>
    (Array.isArray(list) ? list : []).flatMap((one) => {
      const read = repository.safeParse(one);
      return read.success
        ? [{ forgeId: String(read.data.id), fullName: read.data.full_name, installationId, ...state }]
        : [];
    });
  const there = { isRemoved: false, isSuspended: false };
  switch (event) {
    case 'installation':
      return told(at(signal.data, 'repositories'), {
        isRemoved: action === 'deleted',
        isSuspended: action === 'suspend',
      });
    case 'installation_repositories':
      return [
        ...told(at(signal.data, 'repositories_added'), there),
        ...told(at(signal.data, 'repositories_removed'), { ...there, isRemoved: true }),
      ];
    case 'repository':
      return told([at(signal.data, 'repository')], { ...there, isRemoved: action === 'deleted' });
    default:
      return told([at(signal.data, 'repository')], there);
  }
}
