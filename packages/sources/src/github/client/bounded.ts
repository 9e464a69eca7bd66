/** No call without an end: of one request, and of a question with all its tries. */

/** fetch that gives up after `timeoutMs`, also while the body is being read. */
export function boundedFetch(timeoutMs: number): typeof fetch {
  return (input, init) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = init?.signal == null ? timeout : AbortSignal.any([init.signal, timeout]);
    return fetch(input, { ...init, signal });
  };
}

/** The work's result, or `late()` if it takes longer or is called off. The work is told by its signal, and not waited for. */
export async function within<T>(
  timeoutMs: number,
  outer: AbortSignal | null,
  late: () => T,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (outer?.aborted) return late();
  const control = new AbortController();
  let stop = (): void => {};
  const stopped = new Promise<T>((settle) => {
    stop = () => {
      settle(late());
      control.abort();
    };
  });
  const timer = setTimeout(stop, timeoutMs);
  outer?.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work(control.signal), stopped]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', stop);
  }
}
