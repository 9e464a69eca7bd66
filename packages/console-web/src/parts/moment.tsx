/** Exact times, on the page; how long ago stands beside them, never instead of them. */
import { useSyncExternalStore } from 'react';

const TICK_MS = 1_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | null = null;
let nowMs = Date.now();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.visibilityState === 'hidden') return;
    nowMs = Date.now();
    for (const tell of listeners) tell();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
}

/** The browser's clock, once a second. */
export const useNowMs = (): number => useSyncExternalStore(subscribe, () => nowMs);

const two = (n: number): string => String(n).padStart(2, '0');

/** `14:03:11` today, else `2026-11-29 14:03:11`; in the browser's zone. */
export function exact(at: string, now: Date): string {
  const date = new Date(at);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (date.toDateString() === now.toDateString()) return time;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

/** `6 m 12 s`, `41 s`, `3 h 5 m`, `2 d 4 h`: two units at most. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${two(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${two(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** What is over and took less than a second says how much less: `328 ms`. */
export const took = (ms: number): string => (ms >= 0 && ms < 1_000 ? `${Math.floor(ms)} ms` : duration(ms));

/** A length that somebody configured: `24 h`, `10 m`; without the unit that is nothing. */
export const term = (ms: number): string => duration(ms).replace(/ 0+ [a-z]$/, '');

export function Moment({
  at,
  isRelative = false,
}: {
  readonly at: string | null;
  readonly isRelative?: boolean;
}) {
  if (at === null) return <span className="quiet">–</span>;
  return (
    <time dateTime={at} title={at}>
      <span className="nowrap">{exact(at, new Date())}</span>
      {isRelative && <Ago at={at} />}
    </time>
  );
}

function Ago({ at }: { readonly at: string }) {
  const now = useNowMs();
  const passed = now - Date.parse(at);
  return (
    <span className="quiet">
      {' '}
      · <span className="nowrap">{passed < 1_000 ? 'now' : `${duration(passed)} ago`}</span>
    </span>
  );
}

/** Until something that lies ahead; what is due says so. */
export function Coming({ at }: { readonly at: string }) {
  const left = Date.parse(at) - useNowMs();
  return <span className="quiet nowrap">{left < 1_000 ? 'due' : `in ${duration(left)}`}</span>;
}

/** How long something has lasted; it goes on counting while it has no end. */
export function Lasting({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  const now = useNowMs();
  if (from === null) return <span className="quiet">–</span>;
  const begun = Date.parse(from);
  return <span className="nowrap">{to === null ? duration(now - begun) : took(Date.parse(to) - begun)}</span>;
}
