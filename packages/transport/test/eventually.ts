/** Polls until `probe` gives something other than false, null or undefined; fails with the last value. */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  options: { readonly what: string; readonly deadlineMs?: number },
): Promise<NonNullable<T>> {
  const deadlineMs = options.deadlineMs ?? 30_000;
  const startedMs = performance.now();
  for (;;) {
    const value = await probe();
    if (value !== false && value !== null && value !== undefined) return value;
    if (performance.now() - startedMs > deadlineMs) {
      throw new Error(`Not within ${deadlineMs} ms: ${options.what} (last value: ${String(value)})`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
