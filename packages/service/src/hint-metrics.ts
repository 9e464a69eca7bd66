import { metrics } from '@headgate/telemetry';
import type { HintEvent } from '@headgate/transport';

/** Feeds the hint metrics from what the bus sees. */
export function hintMetrics(event: HintEvent): void {
  switch (event.kind) {
    case 'published':
      metrics.hintPublished.add(event.count, { result: 'sent' });
      return;
    case 'publish-failed':
      metrics.hintPublished.add(event.count, { result: 'failed' });
      return;
    case 'dropped':
      metrics.hintConsumed.add(1, { result: event.reason === 'malformed' ? 'malformed' : 'stale' });
      return;
    default:
      return;
  }
}
