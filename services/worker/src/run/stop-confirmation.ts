/** Waits for something that was told to stop, but not for ever. */

/**
 * The result of `running`; null when the signal aborted and it is still not over `withinMs` later. Rejections pass.
 */
export async function confirmStopped<T>(
  running: Promise<T>,
  signal: AbortSignal,
  withinMs: number,
): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => {};
  const unseen = new Promise<null>((resolve) => {
    onAbort = () => {
      timer = setTimeout(() => resolve(null), withinMs);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([running, unseen]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    // Whatever it still does is nobody's business any more.
    running.catch(() => {});
  }
}
