/** Reads a log by stretches: its end first, then forwards while it is written, and backwards where one scrolls. */
import type { LogFile } from '@headgate/sdk';
import { useCallback, useEffect, useRef, useState } from 'react';
import { api } from '../api/client.js';
import { type LogWindow, windowOf, withEarlier, withLater } from './log-window.js';

/** Between two looks at a log that is being written. */
const FOLLOW_MS = 1_000;

export function useLog(runId: string, file: Pick<LogFile, 'attempt' | 'name'>) {
  const { attempt, name } = file;
  const [log, setLog] = useState<LogWindow | null>(null);
  const [fault, setFault] = useState<unknown>(null);
  const newest = useRef<LogWindow | null>(null);
  const waiting = useRef(0);
  const last = useRef<Promise<void>>(Promise.resolve());

  const readNow = useCallback(async (work: () => Promise<LogWindow | null>): Promise<void> => {
    try {
      const next = await work();
      if (next !== null) {
        newest.current = next;
        setLog(next);
      }
      setFault(null);
    } catch (thrown) {
      setFault(thrown);
    } finally {
      waiting.current -= 1;
    }
  }, []);
  /** One after the other: two at once would both add what stands behind the same byte. */
  const read = useCallback(
    (work: () => Promise<LogWindow | null>): Promise<void> => {
      waiting.current += 1;
      last.current = last.current.then(() => readNow(work));
      return last.current;
    },
    [readNow],
  );
  /** What is read by the way gives way to what is read already. */
  const readIfIdle = useCallback(
    (work: () => Promise<LogWindow | null>): Promise<void> =>
      waiting.current > 0 ? Promise.resolve() : read(work),
    [read],
  );

  const readEnd = useCallback(
    () => read(async () => windowOf(await api.runs.log(runId, name, { attempt }))),
    [read, runId, name, attempt],
  );
  const readFrom = useCallback(
    (offset: number) => read(async () => windowOf(await api.runs.log(runId, name, { attempt, offset }))),
    [read, runId, name, attempt],
  );
  const readLater = useCallback(
    () =>
      readIfIdle(async () => {
        const now = newest.current;
        if (now === null || (now.isComplete && now.end >= now.bytes)) return null;
        return withLater(now, await api.runs.log(runId, name, { attempt, offset: now.end }));
      }),
    [readIfIdle, runId, name, attempt],
  );
  const readEarlier = useCallback(
    () =>
      readIfIdle(async () => {
        const now = newest.current;
        if (now === null || now.start === 0) return null;
        return withEarlier(now, await api.runs.log(runId, name, { attempt, before: now.start }));
      }),
    [readIfIdle, runId, name, attempt],
  );

  useEffect(() => {
    void readEnd();
  }, [readEnd]);
  const isComplete = log?.isComplete ?? false;
  const isAtEnd = log === null || log.end >= log.bytes;
  useEffect(() => {
    // Where one reads in the middle, what is added at the end waits.
    if (isComplete || !isAtEnd) return;
    const timer = setInterval(() => void readLater(), FOLLOW_MS);
    return () => clearInterval(timer);
  }, [isComplete, isAtEnd, readLater]);

  return { log, fault, readEnd, readFrom, readLater, readEarlier };
}
