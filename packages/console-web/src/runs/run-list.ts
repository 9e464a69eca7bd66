/** The pages of runs that a list holds, and how what happened meanwhile comes into them. Nothing moves but its own row. */
import type { Page, Run } from '@headgate/sdk';
import type { InfiniteData } from '@tanstack/react-query';

export type RunPages = InfiniteData<Page<Run>, string | undefined>;

export const runsOf = (data: RunPages | undefined): readonly Run[] =>
  data?.pages.flatMap((page) => page.items) ?? [];

/** The same rows in the same places, with what is known of them now. */
export function withFresh(data: RunPages, fresh: readonly Run[]): RunPages {
  const byId = new Map(fresh.map((run) => [run.id, run]));
  return {
    ...data,
    pages: data.pages.map((page) =>
      page.items.some((run) => byId.has(run.id))
        ? { ...page, items: page.items.map((run) => byId.get(run.id) ?? run) }
        : page,
    ),
  };
}

/** Of the newest runs, those that the list does not hold. `isGap`: there may be more between them and the list. */
export function newerThan(
  data: RunPages,
  head: Page<Run>,
): { readonly runs: readonly Run[]; readonly isGap: boolean } {
  const known = new Set(runsOf(data).map((run) => run.id));
  const runs = head.items.filter((run) => !known.has(run.id));
  return { runs, isGap: head.nextCursor !== null && runs.length === head.items.length && runs.length > 0 };
}

export function withNewer(data: RunPages, newer: readonly Run[]): RunPages {
  const [first, ...rest] = data.pages;
  if (first === undefined || newer.length === 0) return data;
  const known = new Set(runsOf(data).map((run) => run.id));
  const items = [...newer.filter((run) => !known.has(run.id)), ...first.items];
  return { ...data, pages: [{ ...first, items }, ...rest] };
}

/** Only the first page: what a list goes back to when it has to be read again. */
export const firstPageOnly = (data: RunPages | undefined): RunPages | undefined =>
  data === undefined ? undefined : { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) };
