/**
 * The list of runs: pages from the API, and what the stream says put into them.
 *
 * Rows that are there are read again by their ids and change in place. New ones come in at the head while the head is in
 * view; otherwise they wait behind a button, so that nothing moves under the reader.
 */
import type { Page, Run, RunQuery } from '@headgate/sdk';
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { api } from '../api/client.js';
import { namedRuns, useChanges } from '../live/live.js';
import { newerThan, type RunPages, runsOf, withFresh, withNewer } from './run-list.js';

const PAGE = 100;
const MAX_IDS = 200;
const HEAD_MS = 1_000;

export function useRunList(query: RunQuery, isAtHead: () => boolean) {
  const client = useQueryClient();
  const key = useMemo(() => ['runs', query] as const, [query]);
  const [held, setHeld] = useState<readonly Run[]>([]);
  const list = useInfiniteQuery<Page<Run>, Error, RunPages, typeof key, string | undefined>({
    queryKey: key,
    queryFn: ({ pageParam }) =>
      api.runs.page({ ...query, limit: PAGE, ...(pageParam === undefined ? {} : { cursor: pageParam }) }),
    initialPageParam: undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  const runs = useMemo(() => runsOf(list.data), [list.data]);
  const known = useRef<ReadonlySet<string>>(new Set());
  known.current = useMemo(() => new Set(runs.map((run) => run.id)), [runs]);

  const change = useCallback(
    (how: (data: RunPages) => RunPages) =>
      client.setQueryData<RunPages>(key, (data) => (data === undefined ? undefined : how(data))),
    [client, key],
  );

  const asks = useRef(0);
  const answered = useRef(new Map<string, number>());
  /** Reads these rows again, where they stand. What cannot be read stays as it is: the page says since when it is old. */
  const refresh = useCallback(
    async (ids: readonly string[]) => {
      const wanted = ids.filter((id) => known.current.has(id)).slice(0, MAX_IDS);
      if (wanted.length === 0) return;
      const asked = ++asks.current;
      const answer = await api.runs.page({ ids: wanted.join(','), limit: MAX_IDS }).catch(() => null);
      if (answer === null) return;
      const { items } = answer;
      // Answers may overtake each other: what was asked for later is newer.
      const fresh = items.filter(({ id }) => (answered.current.get(id) ?? 0) <= asked);
      for (const { id } of fresh) answered.current.set(id, asked);
      change((data) => withFresh(data, fresh));
    },
    [change],
  );

  const readHead = useCallback(async () => {
    const head = await api.runs.page({ ...query, limit: PAGE });
    const data = client.getQueryData<RunPages>(key);
    if (data === undefined) return;
    const { runs: newer, isGap } = newerThan(data, head);
    if (newer.length === 0) return;
    if (isAtHead()) {
      if (isGap) client.setQueryData<RunPages>(key, { pages: [head], pageParams: [undefined] });
      else change((now) => withNewer(now, newer));
    } else setHeld(newer);
  }, [query, client, key, change, isAtHead]);

  const headTimer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(() => () => clearTimeout(headTimer.current ?? undefined), []);
  // Another list holds back nothing yet.
  useEffect(() => setHeld([]), [key]);

  useChanges((changes) => {
    const ids = namedRuns(changes);
    void refresh(ids);
    if (ids.every((id) => known.current.has(id))) return;
    headTimer.current ??= setTimeout(() => {
      headTimer.current = null;
      readHead().catch(() => {});
    }, HEAD_MS);
  });

  const showHeld = useCallback(() => {
    setHeld([]);
    void client.resetQueries({ queryKey: key });
  }, [client, key]);

  return { list, runs, heldCount: held.length, showHeld, refresh };
}
