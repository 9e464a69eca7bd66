/** A log: only the lines in view are in the document; it follows while it is written and the end is in view. */
import type { LogFile } from '@headgate/sdk';
import { Button } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Broken, Loading } from '../parts/states.js';
import classes from './log.module.css';
import { LogSearch } from './log-search.js';
import { type LogWindow, lineAt, shownLine } from './log-window.js';
import { useLog } from './use-log.js';

const LINE_PX = 20;
/** This near to an end, what stands beyond is read. */
const NEAR_PX = 400;

/** A place in the log that was asked for. */
interface Goal {
  readonly offset: number;
  /** A line that a search found: it is marked. */
  readonly isMatch: boolean;
}

export function LogView({ runId, file }: { readonly runId: string; readonly file: LogFile }) {
  const { log, fault, readEnd, readFrom, readLater, readEarlier } = useLog(runId, file);
  const [goal, setGoal] = useState<Goal | null>(null);
  const [isFollowing, setFollowing] = useState(true);

  const goTo = (offset: number, isMatch: boolean): void => {
    setFollowing(false);
    setGoal({ offset, isMatch });
    if (log === null || lineAt(log, offset) < 0) void readFrom(offset);
  };
  if (log === null)
    return fault === null ? <Loading what="the log" /> : <Broken fault={fault} onRetry={readEnd} />;
  return (
    <div className={classes['view']}>
      <div className={classes['tools']}>
        <LogSearch runId={runId} file={file} onGo={(offset) => goTo(offset, true)} />
        <Button size="xs" variant="default" onClick={() => goTo(0, false)}>
          Start
        </Button>
        <Button
          size="xs"
          variant="default"
          aria-pressed={isFollowing}
          onClick={() => {
            setGoal(null);
            setFollowing(true);
            void readEnd();
          }}
        >
          {log.isComplete ? 'End' : isFollowing ? 'Following' : 'Follow'}
        </Button>
      </div>
      <Lines
        name={file.name}
        log={log}
        goal={goal}
        isFollowing={isFollowing}
        onFollow={setFollowing}
        onEarlier={readEarlier}
        onLater={readLater}
      />
    </div>
  );
}

function Lines(props: {
  readonly name: string;
  readonly log: LogWindow;
  readonly goal: Goal | null;
  readonly isFollowing: boolean;
  readonly onFollow: (isFollowing: boolean) => void;
  readonly onEarlier: () => Promise<void>;
  readonly onLater: () => Promise<void>;
}) {
  const { name, log, goal, isFollowing, onFollow, onEarlier, onLater } = props;
  const box = useRef<HTMLDivElement>(null);
  const { lines } = log;
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
    getItemKey: (index) => lines[index]?.offset ?? index,
  });
  const foundLine = goal === null || !goal.isMatch ? -1 : lineAt(log, goal.offset);

  // Lines that came in front must not move those that are read.
  const before = useRef({ start: log.start, lines: lines.length });
  useLayoutEffect(() => {
    const was = before.current;
    before.current = { start: log.start, lines: lines.length };
    if (box.current === null) return;
    if (isFollowing) {
      box.current.scrollTop = box.current.scrollHeight;
      return;
    }
    if (log.start < was.start && lines.length > was.lines) {
      box.current.scrollTop += (lines.length - was.lines) * LINE_PX;
    }
  }, [log.start, lines.length, isFollowing]);
  // Once for each goal, as soon as the part of the log is there.
  const reached = useRef<Goal | null>(null);
  useEffect(() => {
    const line = goal === null ? -1 : lineAt(log, goal.offset);
    if (line < 0 || reached.current === goal) return;
    reached.current = goal;
    rows.scrollToIndex(line, { align: 'center' });
  }, [goal, log, rows]);

  const onScroll = (): void => {
    const { current } = box;
    if (current === null) return;
    const below = current.scrollHeight - current.scrollTop - current.clientHeight;
    if (below < LINE_PX !== isFollowing && (below < LINE_PX ? log.end >= log.bytes : true)) {
      onFollow(below < LINE_PX);
    }
    if (current.scrollTop < NEAR_PX && log.start > 0) void onEarlier();
    if (below < NEAR_PX && log.end < log.bytes) void onLater();
  };
  return (
    <section
      ref={box}
      className={classes['lines']}
      onScroll={onScroll}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={`Log ${name}`}
    >
      <div className={classes['sheet']} style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start, key }) => (
          <div
            key={key}
            className={`${classes['line']} ${index === foundLine ? classes['found'] : ''}`}
            style={{ transform: `translateY(${start}px)` }}
          >
            {shownLine(lines[index]?.text ?? '')}
          </div>
        ))}
      </div>
      {lines.length === 0 && <p className="quiet">{log.isComplete ? 'It said nothing.' : 'Nothing yet.'}</p>}
    </section>
  );
}
