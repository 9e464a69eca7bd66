/**
 * Tests wait for these instead of sleeping. Free when nobody listens.
 */
export type TestSignalDetail = Readonly<Record<string, unknown>>;

/** Says that something has happened, e.g. `testSignal('worker.claimed', { runId })`. */
export function testSignal(_name: string, _detail?: TestSignalDetail): void {}
