import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  StackContextManager,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { hintJobIdOf } from '../src/index.js';
import { spanContextOf, tracePublish, traceReceive } from '../src/tracing.js';
import { aBus, aHint, aTaker } from './bus-fixture.js';
import { eventually } from './eventually.js';
import { privateRedis } from './private-redis.js';

const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(
  new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
);
context.setGlobalContextManager(new StackContextManager().enable());
afterAll(() => {
  trace.disable();
  context.disable();
});
beforeEach(() => exporter.reset());

const ADMITTED = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const traceparent = `00-${ADMITTED.traceId}-${ADMITTED.spanId}-01`;
const spanOf = (kind: SpanKind) => exporter.getFinishedSpans().find((span) => span.kind === kind);

describe('traces of hints', () => {
  it('Q32, C6: link publishing and receiving to what admitted the run, across Redis, and parent neither to it', async () => {
    const redis = await privateRedis();
    const { bus } = aBus(redis.url);
    try {
      const [hint, taker] = [aHint({ traceparent }), aTaker()];
      bus.consume({ queues: ['default'], ...taker });
      await trace.getTracer('test').startActiveSpan('dispatch', async (dispatch) => {
        await bus.publish([hint]);
        dispatch.end();
        await eventually(() => spanOf(SpanKind.CONSUMER), { what: 'the consumer span' });
        const [sent, received] = [spanOf(SpanKind.PRODUCER), spanOf(SpanKind.CONSUMER)];
        expect(sent?.name).toBe('send default');
        expect(sent?.parentSpanContext?.spanId).toBe(dispatch.spanContext().spanId);
        expect(sent?.links.map((link) => link.context)).toMatchObject([ADMITTED]);
        expect(received?.name).toBe('process default');
        expect(received?.parentSpanContext).toBeUndefined();
        expect(received?.spanContext().traceId).not.toBe(ADMITTED.traceId);
        expect(received?.links.map((link) => link.context)).toMatchObject([ADMITTED]);
        expect(received?.attributes).toEqual({
          'messaging.system': 'bullmq',
          'messaging.destination.name': 'default',
          'messaging.operation.name': 'process',
          'messaging.operation.type': 'process',
          'messaging.message.id': hintJobIdOf(hint.runId, 1),
        });
      });
    } finally {
      await bus.close();
      await redis.dispose();
    }
  });

  it('a failed publication and a failed hand-over are errors', async () => {
    await tracePublish('default', [], async () => ({ published: 0, failed: 2 }));
    expect(spanOf(SpanKind.PRODUCER)?.status.code).toBe(SpanStatusCode.ERROR);
    const failing = traceReceive([], [], async () => {
      throw new Error('the database is away');
    });
    await expect(failing).rejects.toThrow('the database is away');
    expect(spanOf(SpanKind.CONSUMER)?.status).toEqual({
      code: SpanStatusCode.ERROR,
      message: 'the database is away',
    });
  });

  it('a traceparent is read when it is valid and is null otherwise, whatever the text', () => {
    expect(spanContextOf(traceparent)).toMatchObject({ ...ADMITTED, traceFlags: 1, isRemote: true });
    expect(spanContextOf(null)).toBeNull();
    expect(spanContextOf(`00-${'0'.repeat(32)}-${ADMITTED.spanId}-01`)).toBeNull();
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(spanContextOf(text)).toBeNull();
      }),
    );
  });
});
