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

export function LogView({ runId, file }: { readonly runId: string; readonly file: LogFile }) {
  const { log, fault, readEnd, readFrom, readLater, readEarlier } = useLog(runId, file);
  const [found, setFound] = useState<number | null>(null);
  const [isFollowing, setFollowing] = useState(true);
  const place = useRef<{ scroll(line: number): void }>(null);

  const goTo = (offset: number): void => {
    setFollowing(false);
    setFound(offset);
    const line = log === null ? -1 : lineAt(log, offset);
    if (line >= 0) place.current?.scroll(line);
    else void readFrom(offset);
  };
  if (log === null)
    return fault === null ? <Loading what="the log" /> : <Broken fault={fault} onRetry={readEnd} />;
  return (
    <div className={classes['view']}>
      <div className={classes['tools']}>
        <LogSearch runId={runId} file={file} onGo={goTo} />
        <Button
          size="xs"
          variant="default"
          onClick={() => {
            setFollowing(false);
            void readFrom(0);
          }}
        >
          Start
        </Button>
        <Button
          size="xs"
          variant="default"
          aria-pressed={isFollowing}
          onClick={() => {
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
        found={found}
        isFollowing={isFollowing}
        onFollow={setFollowing}
        onEarlier={readEarlier}
        onLater={readLater}
        place={place}
      />
    </div>
  );
}

function Lines(props: {
  readonly name: string;
  readonly log: LogWindow;
  readonly found: number | null;
  readonly isFollowing: boolean;
  readonly onFollow: (isFollowing: boolean) => void;
  readonly onEarlier: () => Promise<void>;
  readonly onLater: () => Promise<void>;
  readonly place: React.RefObject<{ scroll(line: number): void } | null>;
}) {
  const { name, log, found, isFollowing, onFollow, onEarlier, onLater, place } = props;
  const box = useRef<HTMLDivElement>(null);
  const { lines } = log;
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
    getItemKey: (index) => lines[index]?.offset ?? index,
  });
  place.current = { scroll: (line) => rows.scrollToIndex(line, { align: 'center' }) };
  const foundLine = found === null ? -1 : lineAt(log, found);

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
  // Once, where a search led into another part of the log.
  useEffect(() => {
    if (foundLine >= 0) rows.scrollToIndex(foundLine, { align: 'center' });
  }, [found, log.start]);

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
