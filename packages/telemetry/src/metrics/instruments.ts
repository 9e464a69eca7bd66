/**
 * The instruments behind the catalogue and the text of /metrics. Their provider is our own, not the global
 * one: metrics work with and without `register`, and a test's second provider cannot take them away.
 */
import type { Meter } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import {
  DataPointType,
  MeterProvider,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { METRICS, type MetricId } from './catalogue.js';
import { type LabelValues, labelGuard } from './label-guard.js';
import type { LabelSpec, MetricSpec } from './spec.js';

type LabelValue<Spec extends LabelSpec> = Spec extends readonly (infer Value)[] ? Value : string;
export type LabelsOf<Spec extends MetricSpec> = {
  readonly [Name in keyof Spec['labels']]: LabelValue<Spec['labels'][Name]>;
};
type LabelArguments<Spec extends MetricSpec> = keyof Spec['labels'] extends never
  ? []
  : [labels: LabelsOf<Spec>];

export interface CounterHandle<Spec extends MetricSpec> {
  /** Adds `value` >= 0. */
  add(value: number, ...labels: LabelArguments<Spec>): void;
}
export interface HistogramHandle<Spec extends MetricSpec> {
  /** Records one value in the metric's unit. */
  record(value: number, ...labels: LabelArguments<Spec>): void;
}
export interface Observation<Spec extends MetricSpec> {
  readonly value: number;
  readonly labels: LabelsOf<Spec>;
}
/** One value, where the metric has no labels, or a list. */
export type Observed<Spec extends MetricSpec> =
  | readonly Observation<Spec>[]
  | (keyof Spec['labels'] extends never ? number : never);
export interface GaugeHandle<Spec extends MetricSpec> {
  /** `read` is asked at each scrape; label sets it no longer returns disappear. Returns the function that ends it. */
  observe(read: () => Observed<Spec> | Promise<Observed<Spec>>): () => void;
}

type Handle<Spec extends MetricSpec> = Spec['kind'] extends 'counter'
  ? CounterHandle<Spec>
  : Spec['kind'] extends 'histogram'
    ? HistogramHandle<Spec>
    : GaugeHandle<Spec>;
export type Metrics = { readonly [Id in MetricId]: Handle<(typeof METRICS)[Id]> };

/** A slow gauge must not hold a scrape: Prometheus gives ten seconds by default. */
const COLLECT_TIMEOUT_MS = 3_000;

function makeCounter(meter: Meter, spec: MetricSpec): CounterHandle<MetricSpec> {
  const guard = labelGuard(spec.labels);
  const instrument = meter.createCounter(spec.name, { unit: spec.unit, description: spec.description });
  // A counter without labels is there from the start: rate() needs the zero before the first event.
  if (Object.keys(spec.labels).length === 0) instrument.add(0);
  return { add: (value, labels?: LabelValues) => instrument.add(value, guard(labels)) };
}

function makeHistogram(meter: Meter, spec: MetricSpec): HistogramHandle<MetricSpec> {
  const guard = labelGuard(spec.labels);
  const instrument = meter.createHistogram(spec.name, {
    unit: spec.unit,
    description: spec.description,
    advice: { explicitBucketBoundaries: [...spec.buckets] },
  });
  return { record: (value, labels?: LabelValues) => instrument.record(value, guard(labels)) };
}

/** By gauge name, the label sets seen by the scrape under way. */
type SeenLabels = Map<string, Set<string>>;

function makeGauge(meter: Meter, spec: MetricSpec, seen: SeenLabels): GaugeHandle<MetricSpec> {
  const guard = labelGuard(spec.labels);
  const instrument = meter.createObservableGauge(spec.name, {
    unit: spec.unit,
    description: spec.description,
  });
  return {
    observe: (read) => {
      const callback = async (result: {
        observe(value: number, labels?: LabelValues): void;
      }): Promise<void> => {
        const observed: number | readonly Observation<MetricSpec>[] = await read();
        const all = typeof observed === 'number' ? [{ value: observed, labels: {} }] : observed;
        const seenNow = seen.get(spec.name) ?? new Set();
        seen.set(spec.name, seenNow);
        for (const { value, labels } of all) {
          const guarded = guard(labels);
          seenNow.add(JSON.stringify(guarded));
          result.observe(value, guarded);
        }
      };
      instrument.addCallback(callback);
      return () => instrument.removeCallback(callback);
    },
  };
}

function makeHandle(
  meter: Meter,
  spec: MetricSpec,
  seen: SeenLabels,
): CounterHandle<MetricSpec> | HistogramHandle<MetricSpec> | GaugeHandle<MetricSpec> {
  switch (spec.kind) {
    case 'counter':
      return makeCounter(meter, spec);
    case 'histogram':
      return makeHistogram(meter, spec);
    case 'gauge':
      return makeGauge(meter, spec, seen);
  }
}

export interface MetricRegistry {
  readonly metrics: Metrics;
  metricsText(): Promise<string>;
}

/** The SDK repeats a gauge's label sets for ever; a queue that is gone must not keep its last depth. */
function withoutStaleGauges(collected: ResourceMetrics, seen: SeenLabels): ResourceMetrics {
  const fresh = (metric: MetricData): MetricData => {
    if (metric.dataPointType !== DataPointType.GAUGE) return metric;
    const seenNow = seen.get(metric.descriptor.name);
    const isFresh = (point: { attributes: object }) =>
      seenNow?.has(JSON.stringify(point.attributes)) === true;
    return { ...metric, dataPoints: metric.dataPoints.filter(isFresh) };
  };
  const scopeMetrics = collected.scopeMetrics.map((scope) => ({
    ...scope,
    metrics: scope.metrics.map(fresh),
  }));
  return { ...collected, scopeMetrics };
}

export interface MetricRegistry {
  readonly metrics: Metrics;
  metricsText(): Promise<string>;
}

/** A registry of its own. The process has one (`metrics`, `metricsText`); tests make more. */
export function createMetricRegistry(): MetricRegistry {
  const reader = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [reader] });
  const meter = provider.getMeter('headgate');
  const seen: SeenLabels = new Map();
  const entries = Object.entries(METRICS).map(([id, spec]) => [id, makeHandle(meter, spec, seen)]);
  // No scope and target lines: the names are unique, and the scraper knows its target.
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  const scrape = async (): Promise<string> => {
    seen.clear();
    // Gauges that failed or were too slow are left out of this scrape; the others stand.
    const { resourceMetrics } = await reader.collect({ timeoutMillis: COLLECT_TIMEOUT_MS });
    return serializer.serialize(withoutStaleGauges(resourceMetrics, seen));
  };
  // One scrape at a time: `seen` belongs to the one under way.
  let last: Promise<unknown> = Promise.resolve();
  return {
    metrics: Object.fromEntries(entries) as Metrics,
    metricsText: () => {
      const next = last.then(scrape, scrape);
      last = next;
      return next;
    },
  };
}

const registry = createMetricRegistry();

/** `metrics.claimEmpty.add(1, { queue_name })`, typed by the catalogue. */
export const metrics: Metrics = registry.metrics;
/** What GET /metrics answers, in the Prometheus text format. */
export const metricsText = (): Promise<string> => registry.metricsText();
export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
