/** A list that is read page by page, newest first; its newest page is asked for again while it is the only one shown. */
import type { Page, PageQuery } from '@headgate/sdk';
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';

const PAGE = 50;

export function usePages<Item>(
  key: QueryKey,
  read: (query: PageQuery) => Promise<Page<Item>>,
  lookAgainMs: number,
) {
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) =>
      read({ limit: PAGE, ...(pageParam === undefined ? {} : { cursor: pageParam }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= 1 ? lookAgainMs : false),
  });
  return { ...list, items: list.data?.pages.flatMap((page) => page.items) ?? [] };
}
