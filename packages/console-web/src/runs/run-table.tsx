/**
 * Runs as rows, of which only those in view are in the document: 100 000 scroll like 50. The page itself scrolls, so
 * that a phone's browser behaves as everywhere.
 */
import type { Run } from '@headgate/sdk';
import { Checkbox } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Link } from 'react-router';
import { usd } from '../parts/amounts.js';
import { Moment } from '../parts/moment.js';
import { StatusBadge } from '../parts/status.js';
import { shortKey } from '../parts/work-key.js';
import { useKeys } from '../shell/keys.js';
import classes from './runs.module.css';
import { Situation } from './situation.js';

const ROW_PX = 44;
const CARD_PX = 96;
const OVERSCAN = 12;
/** Rows before the end at which more are read. */
const READ_AHEAD = 30;
/** What waiting rows in view wait for changes without an event of theirs. */
const LOOK_AGAIN_MS = 10_000;

export interface RunTableProps {
  readonly runs: readonly Run[];
  readonly hasMore: boolean;
  readonly isReadingMore: boolean;
  readonly onReadMore: () => void;
  /** Null: the caller may not act, so nothing can be chosen. */
  readonly chosen: ReadonlySet<string> | null;
  readonly onChoose: (id: string, isChosen: boolean) => void;
  /** Called with runs in view that are worth reading again. */
  readonly onSeen: (ids: readonly string[]) => Promise<void>;
}

export function RunTable(props: RunTableProps) {
  const { runs, hasMore, isReadingMore, onReadMore, chosen, onChoose, onSeen } = props;
  const isNarrow = useMediaQuery('(max-width: 900px)', false, { getInitialValueInEffect: false });
  const body = useRef<HTMLOListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const place = body.current?.getBoundingClientRect().top ?? 0;
    setTop(place + window.scrollY);
  }, []);
  const rowPx = isNarrow ? CARD_PX : ROW_PX;
  const rows = useWindowVirtualizer({
    count: runs.length,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    scrollMargin: top,
    getItemKey: (index) => runs[index]?.id ?? index,
  });
  // Measured anew when rows change their height.
  useEffect(() => rows.measure(), [rowPx]);

  const inView = rows.getVirtualItems();
  const last = inView.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !isReadingMore && last >= runs.length - READ_AHEAD) onReadMore();
  }, [hasMore, isReadingMore, last, runs.length, onReadMore]);

  const waiting = inView.flatMap(({ index }) => {
    const run = runs[index];
    return run !== undefined && run.waiting !== null ? [run.id] : [];
  });
  useLookAgain(waiting, onSeen);
  const current = useRowKeys(rows, runs, chosen, onChoose);

  return (
    <div className={classes['table']}>
      <div aria-hidden="true" className={`${classes['row']} ${classes['columns']}`}>
        <span />
        <span>Status</span>
        <span>Route</span>
        <span>Where</span>
        <span>Now</span>
        <span className={classes['cost']}>Cost</span>
        <span className={classes['time']}>Since</span>
      </div>
      <ol
        ref={body}
        aria-label="Runs, newest first"
        className={classes['body']}
        style={{ height: rows.getTotalSize() }}
        data-rows={runs.length}
      >
        {inView.map(({ index, start, size }) => {
          const run = runs[index];
          if (run === undefined) return null;
          return (
            <RunRow
              key={run.id}
              run={run}
              index={index}
              setSize={hasMore ? -1 : runs.length}
              isCurrent={index === current}
              isChosen={chosen === null ? null : chosen.has(run.id)}
              onChoose={onChoose}
              top={start - rows.options.scrollMargin}
              height={size}
            />
          );
        })}
      </ol>
      {hasMore && <p className={classes['more']}>{isReadingMore ? 'Reading more …' : 'More below'}</p>}
    </div>
  );
}

function RunRow(props: {
  readonly run: Run;
  readonly index: number;
  /** -1: not known. */
  readonly setSize: number;
  readonly isCurrent: boolean;
  readonly isChosen: boolean | null;
  readonly onChoose: (id: string, isChosen: boolean) => void;
  readonly top: number;
  readonly height: number;
}) {
  const { run, index, setSize, isCurrent, isChosen, onChoose, top, height } = props;
  return (
    <li
      aria-posinset={index + 1}
      aria-setsize={setSize}
      data-run={run.id}
      data-current={isCurrent || undefined}
      className={`${classes['row']} ${classes['run']}`}
      style={{ transform: `translateY(${top}px)`, height }}
    >
      <span className={classes['check']}>
        {isChosen !== null && (
          <Checkbox
            size="xs"
            checked={isChosen}
            onChange={(event) => onChoose(run.id, event.currentTarget.checked)}
            aria-label={`Choose ${run.id}`}
          />
        )}
      </span>
      <span className={classes['status']}>
        <StatusBadge status={run.publicStatus} />
      </span>
      <span className={classes['route']} title={run.route}>
        <Link to={`/runs/${run.id}`} data-row-link={index}>
          {run.route}
        </Link>
      </span>
      <Where run={run} />
      <span className={classes['now']} title={run.waiting?.message}>
        <Situation run={run} />
      </span>
      <span className={classes['cost']}>{run.attempt > 0 && usd(run.cost.actualUsd)}</span>
      <span className={classes['time']}>
        <Moment at={run.statusAt} />
      </span>
    </li>
  );
}

/** Of a long repository and a long key each keeps its beginning. */
function Where({ run: { repository, workKey, inputVersion } }: { readonly run: Run }) {
  const key = `${shortKey(workKey)} @ ${inputVersion.slice(0, 10)}`;
  return (
    <span className={classes['where']} title={`${repository ?? ''} ${workKey} @ ${inputVersion}`.trim()}>
      {repository !== null && <span>{repository}</span>}
      <span className="quiet mono">{key}</span>
    </span>
  );
}

/** j and k move, Enter follows the link that has the focus, x chooses. */
function useRowKeys(
  rows: ReturnType<typeof useWindowVirtualizer<Element>>,
  runs: readonly Run[],
  chosen: ReadonlySet<string> | null,
  onChoose: (id: string, isChosen: boolean) => void,
): number {
  const [currentId, setCurrentId] = useState<string | null>(null);
  const current = currentId === null ? -1 : runs.findIndex((run) => run.id === currentId);
  const wanted = useRef<number | null>(null);
  const go = (index: number): void => {
    const run = runs[Math.max(0, Math.min(runs.length - 1, index))];
    if (run === undefined) return;
    const place = runs.indexOf(run);
    setCurrentId(run.id);
    rows.scrollToIndex(place, { align: 'auto' });
    wanted.current = place;
  };
  // The row may be drawn only after the scroll.
  useEffect(() => {
    if (wanted.current === null) return;
    const link = document.querySelector<HTMLElement>(`[data-row-link="${wanted.current}"]`);
    if (link === null) return;
    wanted.current = null;
    link.focus({ preventScroll: true });
  });
  useKeys({
    j: () => go(current + 1),
    k: () => go(current - 1),
    x: () => {
      if (chosen !== null && currentId !== null) onChoose(currentId, !chosen.has(currentId));
    },
  });
  return current;
}

function useLookAgain(ids: readonly string[], read: (ids: readonly string[]) => Promise<void>): void {
  const newest = useRef({ ids, read });
  useEffect(() => {
    newest.current = { ids, read };
  });
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void newest.current.read(newest.current.ids);
    }, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
}
