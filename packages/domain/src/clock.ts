/** Time and chance are injected: decisions are pure functions of them. */
export interface Clock {
  /** Wall clock, for display and for what a person wrote (schedules). Never compared with database time. */
  now(): Date;
  /** Monotonic, in milliseconds; the only clock a worker may judge its lease by. */
  monotonicMs(): number;
}
/** A number in [0, 1). */
export type Random = () => number;

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
};
