/**
 * Spans, and the W3C context that travels through a Postgres row and a hint as one `traceparent` text.
 *
 * From a signal to the later runs of its work key the relation is a *link*, not a parent: a run may start days
 * after its webhook, and many signals may lead to one run.
 */
import {
  type Attributes,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { suppressTracing } from '@opentelemetry/core';
import { ATTR } from './conventions.js';

export type SpanAttributes = Attributes;
const tracer = () => trace.getTracer('headgate');

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Null for anything that is not a valid W3C traceparent. Later versions are read as far as we know them. */
export function parseTraceparent(text: string | null | undefined): SpanContext | null {
  const match = text === null || text === undefined ? null : TRACEPARENT.exec(text.trim());
  if (match === null) return null;
  const [, version, traceId = '', spanId = '', flags = '00', rest] = match;
  if (version === 'ff' || (version === '00' && rest !== undefined)) return null;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const found: SpanContext = { traceId, spanId, traceFlags, isRemote: true };
  return isSpanContextValid(found) ? found : null;
}

/** The active span as a traceparent, to be stored with what it causes; null outside a span. */
export function currentTraceparent(): string | null {
  const found = trace.getActiveSpan()?.spanContext();
  if (found === undefined || !isSpanContextValid(found)) return null;
  return `00-${found.traceId}-${found.spanId}-${found.traceFlags.toString(16).padStart(2, '0')}`;
}

/** The trace id inside a stored traceparent, for receipts and log lines. */
export const traceIdOf = (traceparent: string | null | undefined): string | null =>
  parseTraceparent(traceparent)?.traceId ?? null;

function fail(current: Span, error: unknown): void {
  const isError = error instanceof Error;
  current.recordException(isError ? error : String(error));
  current.setAttribute(ATTR.errorType, isError ? error.name : typeof error);
  current.setStatus({ code: SpanStatusCode.ERROR, message: isError ? error.message : String(error) });
}

function run<T>(
  name: string,
  options: SpanOptions,
  parent: ReturnType<typeof context.active>,
  fn: (span: Span) => T,
): T {
  return tracer().startActiveSpan(name, options, parent, (current) => {
    let result: T;
    try {
      result = fn(current);
    } catch (error) {
      fail(current, error);
      current.end();
      throw error;
    }
    if (!(result instanceof Promise)) {
      current.end();
      return result;
    }
    const settled = result.then(
      (value: unknown) => {
        current.end();
        return value;
      },
      (error: unknown) => {
        fail(current, error);
        current.end();
        throw error;
      },
    );
    return settled as T;
  });
}

/** Runs `fn`, synchronous or not, in a span that ends with it; an exception marks the span and goes on. */
export function span<T>(name: string, attributes: SpanAttributes, fn: (span: Span) => T): T {
  return run(name, { attributes }, context.active(), fn);
}

export interface RemoteContextOptions {
  /** True: a new trace that links to the remote span. False: a child in the remote trace. */
  readonly link: boolean;
  /** What a hint's consumer is; INTERNAL unless told. */
  readonly kind?: SpanKind;
}

/**
 * Runs `fn` in a span that belongs to what `traceparent` names. A missing or unreadable traceparent gives a
 * plain new trace: telemetry never decides whether work runs.
 */
export function withRemoteContext<T>(
  traceparent: string | null | undefined,
  name: string,
  attributes: SpanAttributes,
  fn: (span: Span) => T,
  options: RemoteContextOptions = { link: true },
): T {
  const remote = parseTraceparent(traceparent);
  const spanOptions: SpanOptions = { attributes, kind: options.kind ?? SpanKind.INTERNAL };
  if (remote === null) return run(name, { ...spanOptions, root: true }, ROOT_CONTEXT, fn);
  if (!options.link) return run(name, spanOptions, trace.setSpanContext(ROOT_CONTEXT, remote), fn);
  return run(name, { ...spanOptions, root: true, links: [{ context: remote }] }, ROOT_CONTEXT, fn);
}

/** Adds to the span that is active and kept; `attributes` is not asked for where there is none. */
export const annotate = (attributes: () => SpanAttributes): void => {
  const active = trace.getActiveSpan();
  if (active?.isRecording() === true) active.setAttributes(attributes());
};

/** A span of what was done elsewhere, below the active one, with the times it is said to have had. */
export function recordSpan(
  name: string,
  attributes: SpanAttributes,
  times: { readonly fromMs: number; readonly toMs: number },
  error: string | null = null,
): void {
  const made = tracer().startSpan(name, { attributes, startTime: new Date(times.fromMs) });
  if (error !== null) {
    made.setAttribute(ATTR.errorType, error);
    made.setStatus({ code: SpanStatusCode.ERROR });
  }
  made.end(new Date(times.toMs));
}

/** Runs `fn` outside every trace: no span is made in it, and no request carries our context to others. */
export const untraced = <T>(fn: () => T): T => context.with(suppressTracing(context.active()), fn);

export { type Span, SpanKind };
