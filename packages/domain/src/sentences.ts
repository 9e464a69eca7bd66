/**
 * Sentences for people: the catalogue's sentence, the numbers that made it true, and what was seen. A reader
 * of a receipt should not have to open anything else to know why.
 */
import { messageOf, type ReasonCode } from './reasons.js';

/** What was counted, by name. `held` with `limit` reads as "3 of 3". */
export type Numbers = Readonly<Record<string, number>>;

export interface SentenceFacts {
  readonly numbers?: Numbers | null;
  /** One or more full sentences. */
  readonly detail?: string | null;
}

/** Longest stretch of foreign text (a version, a name) that is repeated in a sentence. */
const QUOTE_CHARACTERS = 80;

/** `sentence('TENANT_AT_LIMIT', { numbers: { held: 3, limit: 3 } })` ends in "as it may have (3 of 3)." */
export function sentence(code: ReasonCode, facts: SentenceFacts = {}): string {
  const base = messageOf(code);
  const numbers = numbersInWords(facts.numbers ?? {});
  const counted = numbers === '' ? base : `${base.replace(/\.$/, '')} (${numbers}).`;
  const detail = facts.detail?.trim() ?? '';
  if (detail === '') return counted;
  return `${counted} ${/[.!?]$/.test(detail) ? detail : `${detail}.`}`;
}

/** `{ held: 3, limit: 3, freeSlots: 0 }` gives "3 of 3, free slots 0". */
export function numbersInWords(numbers: Numbers): string {
  const { held, limit, ...rest } = numbers;
  const parts: string[] = [];
  if (held !== undefined && limit !== undefined) parts.push(`${held} of ${limit}`);
  else if (held !== undefined) parts.push(`${held}`);
  else if (limit !== undefined) parts.push(`limit ${limit}`);
  for (const [name, value] of Object.entries(rest)) parts.push(`${words(name)} ${value}`);
  return parts.join(', ');
}

/** `counted(1, 'run')` gives "1 run", `counted(2, 'run')` "2 runs". */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

const UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const;

/** A duration in its two largest units: "2 min 30 s", "1 d 2 h"; under a second in ms. */
export function durationInWords(durationMs: number): string {
  const ms = Math.max(0, Math.round(durationMs));
  if (ms < 1_000) return `${ms} ms`;
  const parts: string[] = [];
  let restMs = ms;
  for (const unit of UNITS) {
    const count = Math.floor(restMs / unit.ms);
    restMs -= count * unit.ms;
    if (count > 0) parts.push(`${count} ${unit.name}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

/** Foreign text inside a sentence: in quotation marks, control characters out, cut to a readable length. */
export function quoted(text: string): string {
  const clean = text.replace(/\p{C}/gu, ' ');
  const characters = [...clean];
  const shown =
    characters.length > QUOTE_CHARACTERS ? `${characters.slice(0, QUOTE_CHARACTERS).join('')}…` : clean;
  return `"${shown}"`;
}

const words = (name: string): string => name.replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`);
