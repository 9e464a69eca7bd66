/** How the values of options are read. What cannot be read ends the command with a sentence. */
import { InvalidArgumentError, Option } from 'commander';

export function positiveInteger(max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (value < 1 || value > max) throw new InvalidArgumentError(`Write a number from 1 to ${max}.`);
    return value;
  };
}

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `30s`, `10m`, `1h`. */
export function durationMs(text: string): number {
  const [, digits, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit ?? ''];
  if (digits === undefined || unitMs === undefined) {
    throw new InvalidArgumentError('Write a duration such as 30s, 10m or 1h.');
  }
  return Number(digits) * unitMs;
}

const DEFAULT_TIMEOUT_MS = 1_800_000;

export const timeoutOption = (): Option =>
  new Option('--timeout <duration>', 'how long --wait waits')
    .argParser(durationMs)
    .default(DEFAULT_TIMEOUT_MS, '30m');

/** An instant, or a duration that lies back from now: `7d`. Answers RFC 3339. */
export function instantBefore(now: () => Date): (text: string) => string {
  return (text) => {
    if (/^\d+(ms|s|m|h|d)$/.test(text)) return new Date(now().getTime() - durationMs(text)).toISOString();
    const at = Date.parse(text);
    if (Number.isNaN(at)) {
      throw new InvalidArgumentError('Write a time such as 2026-01-31T13:50:00Z, or how long ago: 7d.');
    }
    return new Date(at).toISOString();
  };
}

/** `--input name=value`, repeated. A value that is JSON is taken as such: `--input count=3`. */
export function addInput(
  text: string,
  before: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('Write name=value.');
  const value = text.slice(equals + 1);
  return { ...before, [text.slice(0, equals)]: jsonOr(value) };
}

/** `--data '{"severity": "low"}'`. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> {
  const value = jsonOr(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new InvalidArgumentError('Write a JSON object: \'{ "severity": "low" }\'.');
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The options that were given, without those that were not: the API refuses `undefined` as little as tsc does. */
export function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
