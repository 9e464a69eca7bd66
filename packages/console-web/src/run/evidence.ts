/** What attempts kept of themselves. Its shape belongs to the worker and may be older than this page: read with care. */
export interface CommandSeen {
  readonly command: string;
  /** `exited 0`, `timeout` … */
  readonly outcome: string;
  readonly hasPassed: boolean;
  readonly wallMs: number | null;
  readonly tail: string;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Of `evidence.setup` or `evidence.verify`, or a seal's verification. */
export function commandsSeen(value: unknown): readonly CommandSeen[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).map((one) => {
    const outcome = isObject(one['outcome']) ? one['outcome'] : {};
    const kind = text(outcome['kind']);
    const code = typeof outcome['code'] === 'number' ? outcome['code'] : null;
    return {
      command: text(one['command']),
      outcome: code === null ? kind : `${kind} ${code}`,
      hasPassed: kind === 'exited' && code === 0,
      wallMs: typeof one['wallMs'] === 'number' ? one['wallMs'] : null,
      tail: text(one['tail']),
    };
  });
}

export const evidenceOf = (evidence: unknown, name: string): unknown =>
  isObject(evidence) ? evidence[name] : undefined;
