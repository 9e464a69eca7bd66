/**
 * Counts what a piece of work asks of Postgres. The pools must have one session each, so that all of it is seen.
 *
 * A round trip is a moment of waiting: statements that are sent while an answer is still on its way share it.
 */
import type { Pool } from '@headgate/store';
import type { PoolClient } from 'pg';
import { type Plan, readPlan } from './plan.js';

export interface Watched<T> {
  readonly result: T;
  /** Names of what was run, in order; the text of what has none (`begin`). */
  readonly statements: readonly string[];
  readonly roundTrips: number;
  /** In order; empty unless the server explains everything. */
  readonly plans: readonly Plan[];
}

interface Notes {
  statements: string[];
  roundTrips: number;
  waiting: number;
  plans: Plan[];
}

const watched = new WeakSet<PoolClient>();
let notes: Notes | null = null;

export async function watch<T>(pools: readonly Pool[], work: () => Promise<T>): Promise<Watched<T>> {
  if (notes !== null) throw new Error('one watch at a time');
  for (const pool of new Set(pools)) {
    await pool.use(async (c) => {
      if (!watched.has(c.client)) listenTo(c.client);
    });
  }
  const mine: Notes = { statements: [], roundTrips: 0, waiting: 0, plans: [] };
  notes = mine;
  try {
    const result = await work();
    const { statements, roundTrips, plans } = mine;
    return { result, statements, roundTrips, plans };
  } finally {
    notes = null;
  }
}

function listenTo(client: PoolClient): void {
  watched.add(client);
  client.on('notice', ({ message }) => {
    const plan = message === undefined ? null : readPlan(message);
    if (plan !== null) notes?.plans.push(plan);
  });
  const ask = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>;
  const counted = (...given: unknown[]): Promise<unknown> => {
    const mine = notes;
    if (mine === null) return ask(...given);
    const [first] = given;
    mine.statements.push(typeof first === 'string' ? first : nameIn(first));
    if (mine.waiting === 0) mine.roundTrips += 1;
    mine.waiting += 1;
    return ask(...given).finally(() => {
      mine.waiting -= 1;
    });
  };
  client.query = counted as unknown as PoolClient['query'];
}

const nameIn = (query: unknown): string => {
  const { name, text } = query as { name?: string; text: string };
  return name ?? text;
};
