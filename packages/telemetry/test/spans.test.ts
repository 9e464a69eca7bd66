import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  annotate,
  createLogger,
  currentTraceparent,
  parseTraceparent,
  recordSpan,
  span,
  traceIdOf,
  untraced,
  withRemoteContext,
} from '../src/index.js';

const exporter = new InMemorySpanExporter();
const sdk = new NodeSDK({
  autoDetectResources: false,
  spanProcessors: [new SimpleSpanProcessor({ exporter })],
  metricReaders: [],
  logRecordProcessors: [],
});
beforeAll(() => sdk.start());
beforeEach(() => exporter.reset());
afterAll(async () => {
  await sdk.shutdown();
  trace.disable();
  context.disable();
  propagation.disable();
});

const REMOTE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const only = () => {
  const [first, ...more] = exporter.getFinishedSpans();
  expect(more).toEqual([]);
  if (first === undefined) throw new Error('no span ended');
  return first;
};

describe('spans', () => {
  it('there is no traceparent outside a span', () => {
    expect(currentTraceparent()).toBeNull();
  });

  it('the traceparent of a span leads back to it', () => {
    const inside = span('work', { a: 1 }, () => currentTraceparent());
    const { traceId, spanId } = only().spanContext();
    expect(inside).toBe(`00-${traceId}-${spanId}-01`);
    expect(traceIdOf(inside)).toBe(traceId);
    expect(only().attributes).toEqual({ a: 1 });
  });

  it('what was done elsewhere becomes a span below the active one, with the times it is said to have had', () => {
    span('agent', {}, () => {
      annotate(() => ({ seen: true }));
      recordSpan(
        'execute_tool shell',
        { 'gen_ai.tool.name': 'shell' },
        { fromMs: 1_000, toMs: 3_500 },
        'Exit',
      );
    });
    annotate(() => ({ lost: true }));
    const [tool, agent] = exporter.getFinishedSpans();
    expect(tool?.parentSpanContext?.spanId).toBe(agent?.spanContext().spanId);
    expect([tool?.startTime, tool?.endTime]).toEqual([
      [1, 0],
      [3, 500_000_000],
    ]);
    expect(tool?.attributes).toEqual({ 'gen_ai.tool.name': 'shell', 'error.type': 'Exit' });
    expect(tool?.status.code).toBe(SpanStatusCode.ERROR);
    expect(agent?.attributes).toEqual({ seen: true });
  });

  it('nothing is traced in what is not ours, and no context goes out with it', () => {
    span('worker', {}, () => untraced(() => span('of the agent', {}, () => {})));
    expect(only().name).toBe('worker');
  });

  it('spans of asynchronous work nest and end with it', async () => {
    await span('outer', {}, async () => {
      await Promise.resolve();
      await span('inner', {}, async () => Promise.resolve());
    });
    const [inner, outer] = exporter.getFinishedSpans();
    expect([inner?.name, outer?.name]).toEqual(['inner', 'outer']);
    expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId);
  });

  it.each([
    [
      'synchronous',
      () =>
        span('work', {}, () => {
          throw new RangeError('no');
        }),
    ],
    [
      'asynchronous',
      () =>
        span('work', {}, async () => {
          throw new RangeError('no');
        }),
    ],
  ])('a %s exception marks its span and goes on', async (_name, fail) => {
    await expect(async () => fail()).rejects.toThrow(RangeError);
    expect(only().status).toEqual({ code: SpanStatusCode.ERROR, message: 'no' });
    expect(only().attributes).toEqual({ 'error.type': 'RangeError' });
  });

  it('Q32: a run links to the signal that woke it and starts a trace of its own', () => {
    span('unrelated', {}, () => withRemoteContext(REMOTE, 'run', {}, () => {}, { link: true }));
    const run = exporter.getFinishedSpans().find((one) => one.name === 'run');
    expect(run?.links.map((link) => link.context.spanId)).toEqual(['b7ad6b7169203331']);
    expect(run?.parentSpanContext).toBeUndefined();
    expect(run?.spanContext().traceId).not.toBe('0af7651916cd43dd8448eb211c80319c');
  });

  it('without link a span continues the remote trace', () => {
    withRemoteContext(REMOTE, 'child', {}, () => {}, { link: false });
    expect(only().spanContext().traceId).toBe('0af7651916cd43dd8448eb211c80319c');
    expect(only().parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    expect(only().links).toEqual([]);
  });

  it.each([null, undefined, '', 'rubbish'])('work runs all the same when its traceparent is %s', (text) => {
    expect(withRemoteContext(text, 'work', {}, () => 7)).toBe(7);
    expect(only().links).toEqual([]);
  });

  it('a log line inside a span names its trace', () => {
    const lines: string[] = [];
    const logger = createLogger('t', { destination: { write: (line: string) => lines.push(line) } });
    logger.info('outside');
    span('work', {}, () => logger.info('inside'));
    expect(JSON.parse(lines[0] ?? '')).not.toHaveProperty('trace_id');
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({
      trace_id: only().spanContext().traceId,
      span_id: only().spanContext().spanId,
    });
  });
});

describe('reading a traceparent', () => {
  it.each([
    '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01',
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331',
  ])('refuses %s', (text) => {
    expect(parseTraceparent(text)).toBeNull();
  });

  it('takes what a later version of the standard may send', () => {
    expect(parseTraceparent(`cc${REMOTE.slice(2)}-what-may-come`)?.spanId).toBe('b7ad6b7169203331');
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string(), (text) => parseTraceparent(text) === null));
  });
});
