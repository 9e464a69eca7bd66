/** What happens, for whoever listens on a page; and whether the page may be believed. */
import type { StreamChange } from '@headgate/sdk';
import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';
import { firstPageOnly, type RunPages } from '../runs/run-list.js';
import { LiveConnection, type LiveState } from './connection.js';

type ChangeHandler = (changes: readonly StreamChange[]) => void;

interface Live {
  readonly state: LiveState;
  readonly handlers: Set<ChangeHandler>;
}

const LiveContext = createContext<Live | null>(null);

/** Figures are read again at most this often. */
const FIGURES_MS = 2_000;

export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const client = useQueryClient();
  const [state, setState] = useState<LiveState>({ kind: 'connecting' });
  const [handlers] = useState(() => new Set<ChangeHandler>());

  useEffect(() => {
    let figures: ReturnType<typeof setTimeout> | null = null;
    const readFigures = (): void => {
      figures ??= setTimeout(() => {
        figures = null;
        void client.invalidateQueries({ queryKey: ['overview'] });
      }, FIGURES_MS);
    };
    const connection = new LiveConnection({
      onState: (next) => setState((now) => (sameState(now, next) ? now : next)),
      onReload: () => {
        // A list that was scrolled far is not read again page by page.
        client.setQueriesData<RunPages>({ queryKey: ['runs'] }, firstPageOnly);
        void client.invalidateQueries();
      },
      onRefused: () => void client.invalidateQueries({ queryKey: ['caller'] }),
      onChanges: (changes) => {
        for (const runId of namedRuns(changes)) void client.invalidateQueries({ queryKey: ['run', runId] });
        readFigures();
        for (const handle of handlers) handle(changes);
      },
    });
    connection.start();
    return () => {
      connection.stop();
      if (figures !== null) clearTimeout(figures);
    };
  }, [client, handlers]);

  return <LiveContext value={{ state, handlers }}>{children}</LiveContext>;
}

const sameState = (a: LiveState, b: LiveState): boolean =>
  a.kind === b.kind && ('since' in a ? a.since : null) === ('since' in b ? b.since : null);

/** Each once. */
export const namedRuns = (changes: readonly StreamChange[]): readonly string[] => [
  ...new Set(changes.flatMap((change) => change.runId ?? [])),
];

function useLive(): Live {
  const live = useContext(LiveContext);
  if (live === null) throw new Error('no stream here');
  return live;
}

export const useLiveState = (): LiveState => useLive().state;

/** Calls the newest `handle` with each batch. */
export function useChanges(handle: ChangeHandler): void {
  const { handlers } = useLive();
  const newest = useRef(handle);
  useEffect(() => {
    newest.current = handle;
  });
  useEffect(() => {
    const call: ChangeHandler = (changes) => newest.current(changes);
    handlers.add(call);
    return () => {
      handlers.delete(call);
    };
  }, [handlers]);
}
