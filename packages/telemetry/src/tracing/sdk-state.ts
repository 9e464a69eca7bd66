/**
 * What `register` set up, for the parts of the process that come later. It imports nothing that is
 * instrumented: it is loaded before the hook.
 */
export interface EndedSpan {
  readonly name: string;
  readonly traceId: string;
  /** The answering side of a request. */
  readonly isServer: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
}
/** Sees each span that ends; true = it was the tap's own, do not export it. */
export type SpanTap = (span: EndedSpan) => boolean;

interface RegisteredSdk {
  readonly exporting: boolean;
  shutdown(): Promise<void>;
}

let registered: RegisteredSdk | null = null;
const taps = new Set<SpanTap>();

export function setRegisteredSdk(sdk: RegisteredSdk): void {
  registered = sdk;
}
export const registeredSdk = (): RegisteredSdk | null => registered;

export function addSpanTap(tap: SpanTap): () => void {
  taps.add(tap);
  return () => {
    taps.delete(tap);
  };
}
export function isTapped(span: EndedSpan): boolean {
  let claimed = false;
  for (const tap of taps) claimed = tap(span) || claimed;
  return claimed;
}

const SHUTDOWN_MS = 3_000;

/** Sends what is left and ends the SDK, within `timeoutMs` whatever the collector does. Idempotent. */
export async function shutdownTelemetry(timeoutMs = SHUTDOWN_MS): Promise<void> {
  const sdk = registered;
  if (sdk === null) return;
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  try {
    // A collector that is down must never keep a process from ending, nor make it fail.
    await Promise.race([sdk.shutdown().catch(() => {}), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
