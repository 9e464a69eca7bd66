/** A collector of our own on loopback: keeps the spans that processes export by OTLP over HTTP, as JSON. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atEnd } from '@headgate/testkit';

export interface Span {
  readonly service: string;
  readonly pid: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: 'INTERNAL' | 'SERVER' | 'CLIENT' | 'PRODUCER' | 'CONSUMER';
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
}

const KINDS = ['INTERNAL', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'] as const;

interface Value {
  readonly stringValue?: string;
  readonly intValue?: string | number;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values?: readonly Value[] };
}
type Attributes = readonly { readonly key: string; readonly value: Value }[];
interface Exported {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: Attributes };
    readonly scopeSpans?: readonly { readonly spans?: readonly ExportedSpan[] }[];
  }[];
}
interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind?: number;
  readonly attributes?: Attributes;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number };
}

export interface OtlpReceiver {
  readonly url: string;
  /** All that has come so far. */
  spans(): readonly Span[];
}

export async function otlpReceiver(): Promise<OtlpReceiver> {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (request.url === '/v1/traces') {
        spans.push(...spansIn(JSON.parse(Buffer.concat(parts).toString('utf8')) as Exported));
      }
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, spans: () => spans };
}

function spansIn(exported: Exported): readonly Span[] {
  return (exported.resourceSpans ?? []).flatMap(({ resource, scopeSpans = [] }) => {
    const about = recordOf(resource?.attributes);
    return scopeSpans.flatMap(({ spans = [] }) =>
      spans.map((span) => ({
        service: String(about['service.name']),
        pid: Number(about['process.pid']),
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId === undefined || span.parentSpanId === '' ? null : span.parentSpanId,
        name: span.name,
        kind: KINDS[span.kind ?? 0] ?? 'INTERNAL',
        attributes: recordOf(span.attributes),
        links: span.links ?? [],
        isError: span.status?.code === 2,
      })),
    );
  });
}

const recordOf = (attributes: Attributes = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]));

function plain(value: Value): unknown {
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(plain);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.doubleValue ?? value.boolValue ?? null;
}
