import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

const DEADLINE_MS = 30_000;

export interface EventuallyOptions {
  /** What is waited for, for the error: "run_1 is claimed". */
  readonly what: string;
  /** Default 30 s: what takes a moment takes many where ten things run at once. */
  readonly deadlineMs?: number;
  /** Default 20 ms. */
  readonly everyMs?: number;
}

/**
 * Asks again until the answer is neither false, null nor undefined, and returns it. A fault counts as "not yet".
 * At the deadline it fails with the last answer or fault, also when `ask` itself hangs.
 */
export async function eventually<T>(
  ask: () => T | Promise<T>,
  options: EventuallyOptions,
): Promise<Exclude<T, false | null | undefined>> {
  const deadlineMs = options.deadlineMs ?? DEADLINE_MS;
  const giveUpAtMs = performance.now() + deadlineMs;
  const expiry = new AbortController();
  const expired = delay(deadlineMs, { kind: 'expired' as const }, { signal: expiry.signal });
  // Aborted in the end; nobody may be listening by then.
  expired.catch(() => {});
  let last = 'it was never answered';
  try {
    while (performance.now() < giveUpAtMs) {
      const outcome = await Promise.race([answer(ask), expired]);
      if (outcome.kind === 'expired') break;
      if (outcome.kind === 'answered') {
        const { value } = outcome;
        if (isThere(value)) return value;
        last = `last answer: ${inspect(value, { depth: 4 })}`;
      } else {
        last = `last fault: ${inspect(outcome.fault)}`;
      }
      await delay(options.everyMs ?? 20);
    }
  } finally {
    expiry.abort();
  }
  throw new Error(`not within ${deadlineMs} ms: ${options.what} (${last})`);
}

type Outcome<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'failed'; readonly fault: unknown };

async function answer<T>(ask: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { kind: 'answered', value: await ask() };
  } catch (fault) {
    return { kind: 'failed', fault };
  }
}

function isThere<T>(value: T): value is Exclude<T, false | null | undefined> {
  return value !== false && value !== null && value !== undefined;
}
