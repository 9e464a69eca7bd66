/** What an instance says about itself, in numbers. */
import {
  type Client,
  HeadgateUnreachable,
  type Queue,
  type SourceStanding,
  type Worker,
} from '@headgate/sdk';

export interface Checks {
  readonly postgres: 'ok' | 'down';
  readonly policy: 'ok' | 'missing';
  readonly redis: 'ok' | 'degraded';
  readonly tracing: string;
}

export interface Health {
  readonly checks: Checks;
  readonly queues: readonly Queue[];
  readonly workers: readonly Worker[];
  /** Those with trouble first. */
  readonly sources: readonly SourceStanding[];
  /** Unresolved ones, at most `PAGE`. */
  readonly deadLetters: number;
  /** The oldest of them. */
  readonly deadLetterSince: string | null;
}

const PAGE = 200;
const ANSWER_WITHIN_MS = 10_000;

export async function readHealth(url: string, client: Client): Promise<Health> {
  const checks = await readChecks(url);
  // Without Postgres nothing else can be asked.
  if (checks.postgres === 'down') {
    return { checks, queues: [], workers: [], sources: [], deadLetters: 0, deadLetterSince: null };
  }
  const [queues, workers, sources, dead] = await Promise.all([
    client.queues.page({ limit: PAGE }),
    client.workers.page({ limit: PAGE }),
    client.sources.page({}),
    client.deadLetters.page({ limit: PAGE, resolved: false }),
  ]);
  return {
    checks,
    queues: queues.items,
    workers: workers.items,
    sources: sources.items,
    deadLetters: dead.items.length,
    deadLetterSince: dead.items.at(-1)?.createdAt ?? null,
  };
}

/** 503 is an answer too. */
async function readChecks(url: string): Promise<Checks> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const body = (await response.json()) as { checks?: Partial<Checks> };
    const {
      postgres = 'down',
      policy = 'missing',
      redis = 'degraded',
      tracing = 'unknown',
    } = body.checks ?? {};
    return { postgres, policy, redis, tracing };
  } catch (fault) {
    throw new HeadgateUnreachable(`no answer from ${url}`, { cause: fault });
  }
}
