export type Settled<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'error'; readonly error: Error }
  | { readonly kind: 'late' };

/**
 * Waits for a promise at most `limitMs`, and never throws. The promise goes on by itself when it is late: what
 * it was doing may still happen, its rejection is swallowed.
 */
export async function within<T>(limitMs: number, promise: Promise<T>): Promise<Settled<T>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Settled<T>>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'late' }), limitMs);
  });
  const settled = promise.then(
    (value): Settled<T> => ({ kind: 'value', value }),
    (error: unknown): Settled<T> => ({ kind: 'error', error: asError(error) }),
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
