/**
 * OpenTelemetry for a process: `node --import @headgate/telemetry/register main.js`.
 *
 * The order is the whole point. Express is an ES module to us; without the loader hook in place *before* the
 * SDK and the application are imported its spans and the route names are missing in silence. So: the hook
 * first, everything else by dynamic import afterwards, and `selfTestInstrumentation` says at the start whether
 * it worked.
 *
 * Spans are always made, so that logs and receipts carry trace ids and context travels; they leave the process
 * only when OTEL_EXPORTER_OTLP_ENDPOINT (or the one for traces) is set.
 */
import { register } from 'node:module';
import { registeredSdk, setRegisteredSdk, shutdownTelemetry } from './tracing/sdk-state.js';

if (registeredSdk() === null && process.env['OTEL_SDK_DISABLED'] !== 'true') {
  register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
  const { startSdk } = await import('./tracing/start-sdk.js');
  setRegisteredSdk(startSdk(process.env));
  process.once('beforeExit', () => {
    void shutdownTelemetry();
  });
}
