/** What an observation saw, read for showing. Its shape is the worker's and may be older than this page: read with care. */
export interface Seen {
  /** `exit code 0`, `status 200`; null: it says neither. */
  readonly verdict: string | null;
  readonly evidence: string | null;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

export function seenOf(result: unknown): Seen {
  if (!isObject(result)) return { verdict: null, evidence: result == null ? null : JSON.stringify(result) };
  const { exitCode, status, output, body, json } = result;
  const verdict =
    typeof exitCode === 'number'
      ? `exit code ${exitCode}`
      : typeof status === 'number'
        ? `status ${status}`
        : null;
  const evidence = textOf(output) ?? textOf(body) ?? (json == null ? null : JSON.stringify(json, null, 2));
  return { verdict, evidence };
}
