import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { useSearchParams } from 'react-router';
import { api } from '../api/client.js';
import { Broken, Empty, Loading } from '../parts/states.js';
import { useMayAct } from '../session/signed-in.js';
import { BulkBar } from './bulk-bar.js';
import { Figures } from './figures.js';
import { FilterBar } from './filter-bar.js';
import { type FilterName, type Filters, queryOf, readFilters } from './filters.js';
import { RunTable } from './run-table.js';
import classes from './runs.module.css';
import { useRunList } from './use-run-list.js';
import { WaitingChips } from './waiting-chips.js';

const HEAD_PX = 200;
const FIGURES_MS = 10_000;
const isAtHead = (): boolean => window.scrollY < HEAD_PX;

export function RunsPage() {
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => readFilters(params), [params]);
  // A relative "since" is fixed when it is chosen: or each redraw would be another list.
  const query = useMemo(() => queryOf(filters, Date.now()), [filters]);
  const overview = useQuery({
    queryKey: ['overview'],
    queryFn: () => api.overview(),
    refetchInterval: FIGURES_MS,
  });
  const { list, runs, heldCount, showHeld, refresh } = useRunList(query, isAtHead);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const mayAct = useMayAct();

  const setFilter = useCallback(
    (name: FilterName, value: string | null) => {
      setChosen(new Set());
      setParams((now) => {
        const next = new URLSearchParams(now);
        if (value === null) next.delete(name);
        else next.set(name, value);
        return next;
      });
    },
    [setParams],
  );
  const choose = useCallback((id: string, isChosen: boolean) => {
    setChosen((now) => {
      const next = new Set(now);
      if (isChosen) next.add(id);
      else next.delete(id);
      return next;
    });
  }, []);

  return (
    <>
      <title>Runs · Headgate</title>
      <h1 className="hidden">Runs</h1>
      <div className={classes['head']}>
        <Figures overview={overview.data} />
        <WaitingChips
          overview={overview.data}
          chosen={filters.waiting}
          onChoose={(code) => setFilter('waiting', code)}
        />
      </div>
      <div className={classes['bar']}>
        <FilterBar filters={filters} onChange={setFilter} />
        {mayAct && (
          <BulkBar
            chosen={chosen}
            query={query}
            onDone={(ids) => {
              setChosen(new Set());
              void refresh(ids);
            }}
            onClear={() => setChosen(new Set())}
          />
        )}
      </div>
      {heldCount > 0 && (
        <button type="button" className={classes['held']} onClick={showHeld}>
          {heldCount} newer {heldCount === 1 ? 'run' : 'runs'}: show
        </button>
      )}
      {list.isPending ? (
        <Loading what="runs" />
      ) : list.isError && runs.length === 0 ? (
        <Broken fault={list.error} onRetry={() => void list.refetch()} />
      ) : runs.length === 0 && !list.hasNextPage ? (
        <NoRuns filters={filters} />
      ) : (
        <RunTable
          runs={runs}
          hasMore={list.hasNextPage}
          isReadingMore={list.isFetchingNextPage}
          onReadMore={() => void list.fetchNextPage()}
          chosen={mayAct ? chosen : null}
          onChoose={choose}
          onSeen={refresh}
        />
      )}
    </>
  );
}

function NoRuns({ filters }: { readonly filters: Filters }) {
  if (Object.keys(filters).length > 0) {
    return (
      <Empty title="No run is like that.">
        <p>
          Take a filter away, or search what you miss: every signal has a receipt that says why it did not
          run.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No run yet.">
      <p>
        Send a real delivery: <code>npx headgate send check_run.completed</code>
      </p>
      <p>
        Or ask for work: <code>npx headgate trigger fix-failing-check</code>
      </p>
    </Empty>
  );
}
