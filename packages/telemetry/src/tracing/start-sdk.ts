/** Builds and starts the SDK. Only `register` imports it, after the loader hook. */
import { SpanKind } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { ExpressInstrumentation } from '@opentelemetry/instrumentation-express';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { BatchSpanProcessor, type ReadableSpan, type SpanProcessor } from '@opentelemetry/sdk-trace';
import { isTapped } from './sdk-state.js';

const set = (value: string | undefined): boolean => value !== undefined && value !== '';

function isExporting(env: NodeJS.ProcessEnv): boolean {
  if (env['OTEL_TRACES_EXPORTER'] === 'none') return false;
  return set(env['OTEL_EXPORTER_OTLP_ENDPOINT']) || set(env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']);
}

/** Shows each ended span to the taps and hands on what they leave; without `next` spans end here. */
class TappedProcessor implements SpanProcessor {
  constructor(private readonly next: SpanProcessor | null) {}
  onStart(...args: Parameters<SpanProcessor['onStart']>): void {
    this.next?.onStart(...args);
  }
  onEnd(span: ReadableSpan): void {
    const ended = {
      name: span.name,
      traceId: span.spanContext().traceId,
      isServer: span.kind === SpanKind.SERVER,
      attributes: span.attributes,
    };
    if (!isTapped(ended)) this.next?.onEnd(span);
  }
  async forceFlush(): Promise<void> {
    await this.next?.forceFlush();
  }
  async shutdown(): Promise<void> {
    await this.next?.shutdown();
  }
}

/** Asked every few seconds by machines: their spans would be all one sees. */
const UNTRACED_PATHS = new Set(['/healthz', '/readyz', '/metrics']);
/** What a sandboxed command asks of its proxy (`GET http://…`) is no request to us. */
const isProxied = (url: string | undefined): boolean => !(url ?? '').startsWith('/');
const pathOf = (url: string | undefined): string => (url ?? '').split('?', 1)[0] ?? '';

export function startSdk(env: NodeJS.ProcessEnv): { exporting: boolean; shutdown(): Promise<void> } {
  const exporting = isExporting(env);
  const next = exporting ? new BatchSpanProcessor({ exporter: new OTLPTraceExporter() }) : null;
  const sdk = new NodeSDK({
    ...(set(env['OTEL_SERVICE_NAME']) ? {} : { serviceName: 'headgate' }),
    spanProcessors: [new TappedProcessor(next)],
    // Metrics have their own provider and /metrics; logs go to stderr.
    metricReaders: [],
    logRecordProcessors: [],
    instrumentations: [
      new HttpInstrumentation({
        ignoreIncomingRequestHook: ({ url }) => isProxied(url) || UNTRACED_PATHS.has(pathOf(url)),
      }),
      new ExpressInstrumentation(),
      // Polling and BullMQ's own commands run outside any span: without a parent they would flood the traces.
      new PgInstrumentation({ requireParentSpan: true }),
      new IORedisInstrumentation({ requireParentSpan: true }),
    ],
  });
  sdk.start();
  return { exporting, shutdown: () => sdk.shutdown() };
}
