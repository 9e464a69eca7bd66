import type { SourcePolicy } from '@headgate/domain';
import { suggest } from '../problems/index.js';
import type { HeadgateFile } from '../schema/headgate-file.js';
import { type Folders, isNetworkUrl, resolveRepositoryUrl } from '../schema/repository-url.js';
import { parseReference } from '../secrets/index.js';
import { DEFAULT_TENANT } from './defaults.js';
import type { Notebook } from './notebook.js';
import { resolveWayIn } from './way-in.js';

/** Names that signals of our own triggers carry as their source. */
const RESERVED_SOURCES = ['api', 'schedule', 'goal', 'manual'];

export interface SourceOptions extends Folders {
  /** Overrides what the urls say, for all sources. */
  readonly realForge: boolean | null;
}

export function resolveSources(
  file: HeadgateFile,
  tenants: readonly string[],
  options: SourceOptions,
  notes: Notebook,
): readonly SourcePolicy[] {
  return Object.entries(file.sources ?? {}).map(([id, source]): SourcePolicy => {
    const path = ['sources', id];
    if (RESERVED_SOURCES.includes(id)) {
      notes.problem(
        path,
        `"${id}" is the name of a trigger of Headgate itself`,
        'Call the source otherwise.',
      );
    }
    const tenant = source.tenant ?? (tenants.length === 1 ? (tenants[0] ?? DEFAULT_TENANT) : DEFAULT_TENANT);
    if (!tenants.includes(tenant)) {
      notes.problem(
        [...path, 'tenant'],
        source.tenant === undefined ? 'the tenant is missing' : `there is no tenant "${tenant}"`,
        source.tenant === undefined ? `Write one of: ${tenants.join(', ')}.` : suggest(tenant, tenants),
      );
    }
    const repositories = Object.entries(source.repositories ?? {}).map(([fullName, repository]) => ({
      fullName,
      url: resolveRepositoryUrl(repository.url, options),
      defaultBranch: repository.defaultBranch ?? null,
      ciTrusted: repository.ciTrusted ?? false,
    }));
    warnOfSameName(id, repositories, notes);
    const realForge =
      options.realForge ?? Object.values(source.repositories ?? {}).some(({ url }) => isNetworkUrl(url));
    const wayIn = resolveWayIn(source, listensToGit(file), notesAt(path, notes));
    if (realForge) refuseWrittenSecrets(id, wayIn.webhookSecrets, notes);
    return { id, kind: source.kind, ...wayIn, repositories, tenant, realForge };
  });
}

/** Forges compare names without case, so two spellings are one repository with two settings. */
function warnOfSameName(id: string, repositories: readonly { fullName: string }[], notes: Notebook): void {
  const seen = new Map<string, string>();
  for (const { fullName } of repositories) {
    const earlier = seen.get(fullName.toLowerCase());
    if (earlier !== undefined) {
      notes.problem(
        ['sources', id, 'repositories', fullName],
        `"${fullName}" and "${earlier}" are the same repository`,
        'Keep one of the two.',
      );
    }
    seen.set(fullName.toLowerCase(), fullName);
  }
}

function refuseWrittenSecrets(id: string, references: readonly string[], notes: Notebook): void {
  for (const [index, text] of references.entries()) {
    const reference = parseReference(text);
    if (reference?.kind !== 'environment' || reference.fallback === null) continue;
    notes.problem(
      ['sources', id, 'webhookSecrets', index],
      'a default in the file is a secret that everybody can read, and this source is on a real forge',
      `Write "\${${reference.name}}" and set the variable.`,
    );
  }
}

const notesAt =
  (path: readonly string[], notes: Notebook) =>
  (key: string, message: string, fix: string): void =>
    notes.problem([...path, key], message, fix);

/** A git source is looked at only for those who want to know. */
const listensToGit = (file: HeadgateFile): boolean =>
  Object.values(file.routes ?? {}).some(({ on }) =>
    on.some((entry) => typeof entry === 'string' && entry.startsWith('git.')),
  );
