/** What only the database knows, read at each scrape: one statement, bounded by what lives now. */
import type { ServiceContext } from '@headgate/service';
import { type InstanceFigures, readInstanceFigures, watermarks } from '@headgate/store';
import { metrics } from '@headgate/telemetry';

/** The gauges of one scrape share one read. */
const FRESH_MS = 1_000;

/** Returns the function that ends it. */
export function observeInstance({ database, clock }: ServiceContext): () => void {
  let last: { readonly atMs: number; readonly figures: Promise<InstanceFigures> } | null = null;
  const figures = (): Promise<InstanceFigures> => {
    const atMs = clock.now().getTime();
    if (last === null || Math.abs(atMs - last.atMs) > FRESH_MS) {
      last = { atMs, figures: database.service.use((c) => readInstanceFigures(c)) };
    }
    return last.figures;
  };
  const ends = [
    metrics.leaseActive.observe(async () => (await figures()).leases),
    metrics.workerActive.observe(async () => (await figures()).workers),
    metrics.workerHeartbeatLag.observe(async () => (await figures()).heartbeatLagSeconds),
    metrics.operationOldestAmbiguousAge.observe(async () => (await figures()).oldestAmbiguousSeconds),
    metrics.sourceSilent.observe(() => database.service.use((c) => watermarks.silent(c))),
    metrics.operations.observe(async () =>
      (await figures()).operations.map(({ kind, state, count }) => ({
        value: count,
        labels: { kind, state },
      })),
    ),
  ];
  return () => {
    for (const end of ends) end();
  };
}
