/** What a schedule is to everything that asks when. */

/** A set of instants in ms since the epoch. */
export interface Cadence {
  /** The first strictly after; null = never again. */
  next(afterMs: number): number | null;
  /** The newest `max` in (after, to], oldest first. */
  latest(afterMs: number, toMs: number, max: number): readonly number[];
  /** How many lie in (after, to]. Cheap over years of minutes. */
  count(afterMs: number, toMs: number): number;
}

export type CadenceResult =
  | { readonly ok: true; readonly cadence: Cadence }
  | { readonly ok: false; readonly problem: string };
