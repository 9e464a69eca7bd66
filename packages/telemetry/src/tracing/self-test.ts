/**
 * Does the instrumentation really see express? One request to a throw-away server, whose span must come out
 * with `http.route`. When the loader hook is missing everything else looks healthy, so this asks.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { addSpanTap, type EndedSpan, registeredSdk } from './sdk-state.js';
import { withRemoteContext } from './spans.js';

export type InstrumentationState =
  | { readonly state: 'working'; readonly exporting: boolean; readonly detail: string }
  /** The process was started without `register`: no traces, everything else works. */
  | { readonly state: 'off'; readonly exporting: false; readonly detail: string }
  | { readonly state: 'broken'; readonly exporting: boolean; readonly detail: string };

const ROUTE = '/self-test/:id';
const DEADLINE_MS = 3_000;
const ROUTE_ATTRIBUTE = 'http.route';

/** Resolves with the self-test's server span, or null when none came in time. */
function nextServerSpan(traceId: string): { readonly span: Promise<EndedSpan | null>; stop(): void } {
  let settle: (span: EndedSpan | null) => void = () => {};
  const span = new Promise<EndedSpan | null>((resolve) => {
    settle = resolve;
  });
  const timer = setTimeout(() => settle(null), DEADLINE_MS);
  const stopTap = addSpanTap((ended) => {
    if (ended.traceId !== traceId) return false;
    // Express's own layer spans carry http.route too: it is the server span that must.
    if (ended.isServer) settle(ended);
    return true;
  });
  return {
    span,
    stop: () => {
      clearTimeout(timer);
      stopTap();
    },
  };
}

async function listen(server: http.Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

async function request(port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/self-test/1', agent: false };
    const call = http.get(options, (response) => response.resume().once('end', resolve));
    call.once('error', reject);
    call.setTimeout(DEADLINE_MS, () => call.destroy(new Error('no answer')));
  });
}

async function probe(): Promise<EndedSpan | null> {
  const { default: express } = await import('express');
  const app = express();
  app.get(ROUTE, (_request, response) => {
    response.end('ok');
  });
  const server = http.createServer(app);
  // The client's instrumentation hands this span's trace to the server: that is how we know our own spans.
  return withRemoteContext(null, 'headgate.self-test', {}, async (own) => {
    const watch = nextServerSpan(own.spanContext().traceId);
    try {
      await request(await listen(server));
      return await watch.span;
    } finally {
      // After the surrounding span, which ends with this function.
      setImmediate(watch.stop);
      server.close();
      server.closeAllConnections();
    }
  });
}

async function examine(): Promise<InstrumentationState> {
  const sdk = registeredSdk();
  if (sdk === null) {
    return {
      state: 'off',
      exporting: false,
      detail: 'Started without `--import @headgate/telemetry/register`: no traces.',
    };
  }
  const { exporting } = sdk;
  const broken = (detail: string): InstrumentationState => ({ state: 'broken', exporting, detail });
  try {
    const seen = await probe();
    if (seen === null) return broken('A request to a test server made no span: HTTP is not instrumented.');
    if (seen.attributes[ROUTE_ATTRIBUTE] !== ROUTE) {
      return broken(
        'A request’s span has no http.route: express was loaded before the loader hook. Start with `node --import @headgate/telemetry/register`.',
      );
    }
    return {
      state: 'working',
      exporting,
      detail: exporting
        ? 'Requests are traced and exported.'
        : 'Requests are traced; set OTEL_EXPORTER_OTLP_ENDPOINT to export.',
    };
  } catch (error) {
    return broken(`The self-test failed: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

let examined: Promise<InstrumentationState> | null = null;

/** For /readyz and `doctor`. Runs once per process; its own spans are not exported. Never rejects. */
export function selfTestInstrumentation(): Promise<InstrumentationState> {
  examined ??= examine();
  return examined;
}
