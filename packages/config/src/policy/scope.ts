import type { RepositoryPolicy, SourcePolicy } from '@headgate/domain';

export interface ReachedRepository {
  readonly source: SourcePolicy;
  readonly repository: RepositoryPolicy;
}

/** The declared repositories that the patterns reach; without patterns, all of the sources. */
export function reposOf(
  patterns: readonly string[],
  sources: readonly SourcePolicy[],
): readonly ReachedRepository[] {
  return sources.flatMap((source) =>
    source.repositories
      .filter(
        ({ fullName }) => patterns.length === 0 || patterns.some((pattern) => reaches(pattern, fullName)),
      )
      .map((repository) => ({ source, repository })),
  );
}

/** `*` and `?` stay inside a segment, `**` crosses them, a lone `*` is every repository; case does not count. */
function reaches(pattern: string, fullName: string): boolean {
  if (pattern === '*') return true;
  const source = pattern.replace(/\*\*|\*|\?|[.+^${}()|[\]\\]/g, (mark) => {
    if (mark === '**') return '.*';
    if (mark === '*') return '[^/]*';
    return mark === '?' ? '[^/]' : `\\${mark}`;
  });
  return new RegExp(`^${source}$`, 'i').test(fullName);
}
