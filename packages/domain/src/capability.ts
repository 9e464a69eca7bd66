/**
 * Capability routing (Q20): a run starts only where everything it requires is offered.
 *
 * | required | offered must be |
 * |---|---|
 * | a version range (`">=21"`, `"20.x"`, `"^1.2"`) | a version in the range, or a list with one; `21`, `"v21.0.2"` and `"3.11"` read as versions, pre-releases take part |
 * | any other string | the same string, or a list that holds it |
 * | `"*"` | anything but false or an empty list |
 * | a list | a list with every element (each element as a string above), or the one string |
 * | a number | a number at least as large |
 * | `true` | `true` |
 * | `false` | nothing, or `false`: the run must not have it |
 */
import semver from 'semver';
import type { Capabilities } from './policy.js';

export type CapabilityValue = Capabilities[string];

export interface MissingCapability {
  readonly name: string;
  readonly required: CapabilityValue;
  /** null = not offered at all. */
  readonly offered: CapabilityValue | null;
}

export type CapabilityMatch =
  | { readonly ok: true }
  | { readonly ok: false; readonly missing: readonly MissingCapability[] };

/** Whether everything required is offered, and if not, all that is missing (in order of name). */
export function match(required: Capabilities, offered: Capabilities): CapabilityMatch {
  const missing: MissingCapability[] = [];
  for (const name of Object.keys(required).sort()) {
    const need = required[name];
    if (need === undefined) continue;
    const have = Object.hasOwn(offered, name) ? (offered[name] ?? null) : null;
    if (!satisfies(need, have)) missing.push({ name, required: need, offered: have });
  }
  return missing.length === 0 ? { ok: true } : { ok: false, missing };
}

/** "node >=20 (offered: 18.19.0), network (not offered)": for the sentence of NO_CAPABLE_WORKER. */
export function missingInWords(missing: readonly MissingCapability[]): string {
  return missing
    .map(({ name, required, offered }) => {
      const need = required === true ? name : `${name} ${text(required)}`;
      return `${need} (${offered === null ? 'not offered' : `offered: ${text(offered)}`})`;
    })
    .join(', ');
}

function satisfies(need: CapabilityValue, have: CapabilityValue | null): boolean {
  if (need === false) return have === null || have === false;
  if (have === null) return false;
  if (need === true) return have === true;
  if (typeof need === 'number') return typeof have === 'number' && have >= need;
  if (typeof need === 'string') return offers(have, need);
  return need.every((element) => offers(have, element));
}

function offers(have: CapabilityValue, need: string): boolean {
  if (need === '*') return have !== false && !(Array.isArray(have) && have.length === 0);
  if (typeof have === 'boolean') return false;
  const offered = typeof have === 'number' ? [String(have)] : typeof have === 'string' ? [have] : have;
  return offered.some((one) => one === need || isInRange(one, need));
}

/** Only what begins like a version is one: a tool called `node20` never satisfies a range. */
function isInRange(offered: string, range: string): boolean {
  if (!/\d/.test(range) || !/^v?\d/.test(offered)) return false;
  if (semver.validRange(range) === null) return false;
  const version = semver.parse(offered) ?? semver.coerce(offered);
  return version !== null && semver.satisfies(version, range, { includePrerelease: true });
}

const text = (value: CapabilityValue): string =>
  typeof value === 'object' ? value.join(', ') : String(value);
