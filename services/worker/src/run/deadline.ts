/** A bound on one phase: aborts when its time is over, or with the signal it is given. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Its own time is over. */
  readonly isOver: boolean;
  /** Ends the phase before its time. */
  abort(): void;
  clear(): void;
}

/** The largest timer; longer is as good as never. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function deadline(withinMs: number, outer: AbortSignal): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const timer = setTimeout(
    () => {
      isOver = true;
      controller.abort();
    },
    Math.min(Math.max(withinMs, 0), MAX_TIMER_MS),
  );
  const onOuter = (): void => controller.abort();
  if (outer.aborted) controller.abort();
  outer.addEventListener('abort', onOuter, { once: true });
  return {
    signal: controller.signal,
    get isOver() {
      return isOver;
    },
    abort: () => controller.abort(),
    clear: () => {
      clearTimeout(timer);
      outer.removeEventListener('abort', onOuter);
    },
  };
}
