/** The Prometheus spelling of a catalogue entry, as the exporter writes it: dashboards and alerts are made from it. */
import { METRICS, type MetricId } from './catalogue.js';
import type { MetricSpec } from './spec.js';

/** `scheduler.claim.empty.count` is `scheduler_claim_empty_count_total`. */
export function prometheusName(spec: MetricSpec): string {
  const plain = spec.name.replace(/[^a-z0-9_]/gi, '_').replace(/_{2,}/g, '_');
  return spec.kind === 'counter' && !plain.endsWith('_total') ? `${plain}_total` : plain;
}

/** Every series name of a metric: a histogram has three. */
export function prometheusSeries(spec: MetricSpec): readonly string[] {
  const name = prometheusName(spec);
  return spec.kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}

/** The alert's PromQL, or null for a metric that alerts nobody. */
export function alertExpression(id: MetricId): string | null {
  const spec: MetricSpec = METRICS[id];
  return spec.alert === null ? null : spec.alert.when.replaceAll('{metric}', prometheusName(spec));
}
