/** The little language of HEADGATE_FAILPOINTS: `point=action[@n];point=action…` */
export type FailPointRule = FailPointEffect & {
  /** Act on this pass only, counted from 1; null = on every pass. */
  readonly onlyPass: number | null;
};
export type FailPointEffect =
  | { readonly kind: 'kill' }
  | { readonly kind: 'stop' }
  | { readonly kind: 'throw' }
  | { readonly kind: 'delay'; readonly delayMs: number }
  /** Waits until the file appears; without a file, until the handle of `armFailPoint` releases it. */
  | { readonly kind: 'hold'; readonly file: string | null };

/** As a person writes it: `kill`, `stop`, `throw`, `delay:250`, `hold`, `hold:/tmp/go`, each with an optional `@3`. */
export type FailPointAction = string;

const ACTION = /^(?:(kill|stop|throw)|delay:(\d+)|hold(?::(.+?))?)(?:@([1-9]\d*))?$/;

/** Null when `text` is no action. */
export function parseFailPointAction(text: FailPointAction): FailPointRule | null {
  const match = ACTION.exec(text.trim());
  if (match === null) return null;
  const [, plain, delayMs, file, pass] = match;
  const onlyPass = pass === undefined ? null : Number(pass);
  if (delayMs !== undefined) return { kind: 'delay', delayMs: Number(delayMs), onlyPass };
  if (plain === 'kill' || plain === 'stop' || plain === 'throw') return { kind: plain, onlyPass };
  return { kind: 'hold', file: file ?? null, onlyPass };
}

export type ParsedFailPoints<Name extends string> =
  | { readonly ok: true; readonly rules: readonly { readonly name: Name; readonly rule: FailPointRule }[] }
  | { readonly ok: false; readonly problem: string };

/** Reads the whole variable. A misspelt point must stop the start: a drill that arms nothing proves nothing. */
export function parseFailPoints<Name extends string>(
  text: string,
  names: readonly Name[],
): ParsedFailPoints<Name> {
  const rules: { name: Name; rule: FailPointRule }[] = [];
  for (const part of text.split(';')) {
    const entry = part.trim();
    if (entry === '') continue;
    const equals = entry.indexOf('=');
    const wanted = equals < 0 ? entry : entry.slice(0, equals).trim();
    const name = names.find((known) => known === wanted);
    if (name === undefined) {
      return { ok: false, problem: `"${wanted}" is no fail-point. Known: ${names.join(', ')}` };
    }
    const rule = equals < 0 ? null : parseFailPointAction(entry.slice(equals + 1));
    if (rule === null) {
      return {
        ok: false,
        problem: `"${entry}" has no action. Actions: kill, stop, throw, delay:<ms>, hold:<file>, each with an optional @n`,
      };
    }
    if (rule.kind === 'hold' && rule.file === null) {
      return {
        ok: false,
        problem: `"${entry}" would hold for ever: name the file that releases it, hold:<file>`,
      };
    }
    rules.push({ name, rule });
  }
  return { ok: true, rules };
}
