import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  alertExpression,
  createMetricRegistry,
  largestLabelSets,
  METRICS,
  type MetricId,
  type MetricSpec,
  prometheusName,
  prometheusSeries,
  REQUIRED_METRICS,
} from '../src/metrics/index.js';
import { labelGuard } from '../src/metrics/label-guard.js';

const ALL: readonly (readonly [MetricId, MetricSpec])[] = Object.entries(METRICS) as [MetricId, MetricSpec][];
/** Above it the SDK folds all further label sets of a metric into one without labels. */
const SDK_LABEL_SETS = 2_000;

describe('the metric catalogue', () => {
  it('Q32: holds the fourteen metrics of the requirements under exactly those names', () => {
    expect(REQUIRED_METRICS.map((id) => METRICS[id].name)).toEqual([
      'scheduler.admission.accepted.count',
      'scheduler.admission.denied.count',
      'scheduler.queue.depth',
      'scheduler.queue.oldest_ready_age_seconds',
      'scheduler.claim.success.count',
      'scheduler.claim.empty.count',
      'scheduler.lease.active.count',
      'scheduler.lease.expired.count',
      'scheduler.retry.count',
      'scheduler.run.duration_seconds',
      'scheduler.worker.active.count',
      'scheduler.worker.heartbeat.lag_seconds',
      'scheduler.capacity.denied.count',
      'scheduler.cancellation.latency_seconds',
    ]);
  });

  it('Q32: gives the required metrics the labels of the requirements', () => {
    expect(Object.keys(METRICS.queueDepth.labels)).toContain('queue_name');
    expect(Object.keys(METRICS.retry.labels)).toEqual(['reason_code']);
    expect(Object.keys(METRICS.runDuration.labels)).toEqual(['status']);
    expect(Object.keys(METRICS.capacityDenied.labels)).toEqual(['dimension']);
  });

  it('derives Prometheus names in which no two series collide', () => {
    const series = ALL.flatMap(([, spec]) => prometheusSeries(spec));
    expect(new Set(series).size).toBe(series.length);
    for (const name of series) expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
  });

  it.each(ALL)('%s cannot overflow its label sets, names no ids, and explains itself', (_id, spec) => {
    expect(largestLabelSets(spec.labels)).toBeLessThanOrEqual(SDK_LABEL_SETS);
    for (const label of Object.keys(spec.labels)) {
      expect(label).not.toMatch(/(^|_)(id|key|sha|url|tenant|repository|run|task)$/);
    }
    expect(spec.description).toMatch(/^[A-Z1].*\.$/);
    expect(spec.unit).not.toBe('');
    expect(spec.buckets.length > 0).toBe(spec.kind === 'histogram');
    expect([...spec.buckets]).toEqual([...spec.buckets].sort((a, b) => a - b));
  });

  it('derives alert expressions over names that /metrics really has', () => {
    const series = new Set(ALL.flatMap(([, spec]) => prometheusSeries(spec)));
    const alerts = ALL.filter(([, spec]) => spec.alert !== null);
    expect(alerts.length).toBeGreaterThan(5);
    for (const [id] of alerts) {
      const expression = alertExpression(id) ?? '';
      expect(expression).not.toContain('{metric}');
      const names = expression.match(/\b(?:scheduler|headgate)_[a-z_]+/g) ?? [];
      expect(names).not.toEqual([]);
      for (const name of names) expect(series).toContain(name);
    }
  });
});

describe('/metrics', () => {
  it('writes every metric of the catalogue under its derived name, with unit and help', async () => {
    const { metrics, metricsText } = createMetricRegistry();
    for (const [id, spec] of ALL) {
      const labels = Object.fromEntries(
        Object.entries(spec.labels).map(([name, values]) => [name, 'atMost' in values ? 'x' : values[0]]),
      );
      const handle: object = metrics[id];
      if ('add' in handle && typeof handle.add === 'function') handle.add(3, labels);
      if ('record' in handle && typeof handle.record === 'function') handle.record(3, labels);
      if ('observe' in handle && typeof handle.observe === 'function')
        handle.observe(() => [{ value: 3, labels }]);
    }
    const text = await metricsText();
    for (const [, spec] of ALL) {
      const name = prometheusName(spec);
      expect(text).toContain(`# HELP ${name} ${spec.description}`);
      expect(text).toContain(`# TYPE ${name} ${spec.kind}`);
      for (const series of prometheusSeries(spec)) {
        expect(text).toMatch(new RegExp(`^${series}(\\{[^\\n]*\\})? [0-9]`, 'm'));
      }
    }
    const typed = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(typed.sort()).toEqual(ALL.map(([, spec]) => prometheusName(spec)).sort());
  });

  it('counts, and shows a counter without labels before its first event', async () => {
    const { metrics, metricsText } = createMetricRegistry();
    expect(await metricsText()).toContain('scheduler_lease_expired_count_total 0');
    metrics.leaseExpired.add(2);
    metrics.claimSuccess.add(1, { queue_name: 'default' });
    metrics.claimSuccess.add(1, { queue_name: 'default' });
    metrics.runDuration.record(42, { status: 'SUCCEEDED' });
    const text = await metricsText();
    expect(text).toContain('scheduler_lease_expired_count_total 2');
    expect(text).toContain('scheduler_claim_success_count_total{queue_name="default"} 2');
    expect(text).toContain('scheduler_run_duration_seconds_bucket{status="SUCCEEDED",le="30"} 0');
    expect(text).toContain('scheduler_run_duration_seconds_bucket{status="SUCCEEDED",le="60"} 1');
  });

  it('a gauge is read at each scrape, and what is gone disappears', async () => {
    const { metrics, metricsText } = createMetricRegistry();
    const queues = new Map([
      ['a', 1],
      ['b', 2],
    ]);
    const stop = metrics.queueDepth.observe(async () =>
      [...queues].map(([queue_name, value]) => ({ value, labels: { queue_name, state: 'ready' as const } })),
    );
    metrics.leaseActive.observe(() => 7);
    expect(await metricsText()).toContain('scheduler_queue_depth{queue_name="a",state="ready"} 1');
    queues.delete('a');
    const text = await metricsText();
    expect(text).not.toContain('queue_name="a"');
    expect(text).toContain('scheduler_queue_depth{queue_name="b",state="ready"} 2');
    expect(text).toContain('scheduler_lease_active_count 7');
    stop();
    expect(await metricsText()).not.toContain('scheduler_queue_depth{');
  });

  it('a gauge that fails takes no other metric with it', async () => {
    const { metrics, metricsText } = createMetricRegistry();
    metrics.leaseActive.observe(() => Promise.reject(new Error('no database')));
    metrics.workerActive.observe(() => 3);
    const text = await metricsText();
    expect(text).toContain('scheduler_worker_active_count 3');
    expect(text).not.toMatch(/^scheduler_lease_active_count /m);
  });
});

describe('the label guard', () => {
  it('keeps label sets few, whatever ten thousand callers hand in', async () => {
    const { metrics, metricsText } = createMetricRegistry();
    for (let index = 0; index < 10_000; index += 1)
      metrics.claimEmpty.add(1, { queue_name: `queue-${index}` });
    const lines = (await metricsText()).match(/^scheduler_claim_empty_count_total\{.*$/gm) ?? [];
    expect(lines).toHaveLength(51);
    expect(lines.join('\n')).toContain('{queue_name="other"} 9950');
    expect(lines.join('\n')).not.toContain('overflow');
  });

  it.each([
    '0190163d-8694-739b-aea5-966c26f8ad91',
    'run_01h455vb4pex5vsknk084sn02q',
    '/v1/runs/run_01h455vb4pex5vsknk084sn02q',
    'da39a3ee5e6b4b0d3255bfef95601890afd80709',
    'x'.repeat(121),
  ])('turns %s into other', (value) => {
    expect(labelGuard({ route: { atMost: 10 } })({ route: value })).toEqual({ route: 'other' });
  });

  it('lets route templates and names pass', () => {
    const guard = labelGuard({ route: { atMost: 10 } });
    for (const route of ['/v1/runs/:id', '/webhooks/:source', 'java-small']) {
      expect(guard({ route })).toEqual({ route });
    }
  });

  it('returns exactly the declared labels, each within its list, for any input', () => {
    const guard = labelGuard({ closed: ['a', 'b'], open: { atMost: 3 } });
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('closed', 'open', 'extra'), fc.string()), (labels) => {
        const guarded = guard(labels);
        seen.add(guarded['open'] ?? '');
        return (
          Object.keys(guarded).join() === 'closed,open' &&
          ['a', 'b', 'other'].includes(guarded['closed'] ?? '') &&
          seen.size <= 4
        );
      }),
    );
  });
});
