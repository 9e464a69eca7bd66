/** Request headers as Node gives them, or as a test writes them. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** One header's value, whatever the case of its name; null when it is absent or was sent more than once. */
export function headerOf(headers: Headers, name: string): string | null {
  const wanted = name.toLowerCase();
  const direct = headers[wanted];
  if (typeof direct === 'string') return direct;
  const found = Object.entries(headers).filter(([key, value]) => key.toLowerCase() === wanted && value);
  const only = found.length === 1 ? found[0]?.[1] : undefined;
  if (typeof only === 'string') return only;
  return only?.length === 1 ? (only[0] ?? null) : null;
}

/** What GitHub says about a delivery beside its body. */
export interface DeliveryHeaders {
  readonly event: string | null;
  readonly guid: string | null;
  readonly hookId: string | null;
  /** Names of headers that are missing or cannot be what GitHub sends. */
  readonly faults: readonly string[];
}

const EVENT_NAME = /^[A-Za-z0-9_.-]{1,100}$/;
// Any printable text but the slash, which parts hook and GUID in the event id.
const GUID = /^[\x21-\x2e\x30-\x7e]{1,128}$/;
const HOOK_ID = /^[A-Za-z0-9_-]{1,64}$/;

export function deliveryHeaders(headers: Headers): DeliveryHeaders {
  const faults: string[] = [];
  const take = (name: string, shape: RegExp, required: boolean): string | null => {
    const value = headerOf(headers, name);
    if (value !== null && shape.test(value)) return value;
    if (required || value !== null) faults.push(name);
    return null;
  };
  return {
    event: take('X-GitHub-Event', EVENT_NAME, true),
    guid: take('X-GitHub-Delivery', GUID, true),
    hookId: take('X-GitHub-Hook-ID', HOOK_ID, false),
    faults,
  };
}
