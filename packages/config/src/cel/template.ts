/** Templates of keys: text with `{{ CEL }}` in it, e.g. `{{ repository.id }}/pr/{{ event.number }}`. */
import type { Complaint } from '../problems/index.js';
import type { ExpressionContext } from './context.js';
import { compileExpression, type Expression } from './expression.js';

export type Rendered = { readonly value: string } | { readonly error: string };

export type CompiledTemplate =
  | {
      readonly ok: true;
      /** Dotted paths that the template reads. */
      readonly reads: ReadonlySet<string>;
      render(context: ExpressionContext): Rendered;
    }
  | { readonly ok: false; readonly problem: Complaint };

/** Longest text a template may give, in characters; a work key is capped below that by its own rule. */
const MAX_RENDERED_CHARACTERS = 8192;

export function compileTemplate(source: string): CompiledTemplate {
  const parts: (string | Expression)[] = [];
  const reads = new Set<string>();
  let at = 0;
  while (at < source.length) {
    const open = source.indexOf('{{', at);
    if (open < 0) break;
    if (open > at) parts.push(source.slice(at, open));
    const close = closingBraces(source, open + 2);
    if (close < 0) {
      return { ok: false, problem: { message: 'a "{{" is not closed', fix: 'Close it with "}}".' } };
    }
    const compiled = compileExpression(source.slice(open + 2, close));
    if (!compiled.ok) return compiled;
    parts.push(compiled.expression);
    for (const path of compiled.expression.reads) reads.add(path);
    at = close + 2;
  }
  if (at < source.length) parts.push(source.slice(at));
  if (parts.some((part) => typeof part === 'string' && part.includes('}}'))) {
    return { ok: false, problem: { message: 'a "}}" has no "{{" before it', fix: 'Open it, or remove it.' } };
  }
  return { ok: true, reads, render: (context) => render(parts, context) };
}

function render(parts: readonly (string | Expression)[], context: ExpressionContext): Rendered {
  let text = '';
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part;
      continue;
    }
    const result = part.evaluate(context);
    if ('error' in result) return result;
    const { value } = result;
    if (
      typeof value !== 'string' &&
      typeof value !== 'number' &&
      typeof value !== 'bigint' &&
      typeof value !== 'boolean'
    ) {
      return {
        error: `an expression in the template gave ${value === null ? 'null' : 'a list or an object'}`,
      };
    }
    text += String(value);
    if (text.length > MAX_RENDERED_CHARACTERS) {
      return { error: `the template gave more than ${MAX_RENDERED_CHARACTERS} characters` };
    }
  }
  return { value: text };
}

/** Position of the `}}` that ends the expression; one inside quotes or inside a map literal does not. */
function closingBraces(source: string, from: number): number {
  let quote: string | null = null;
  let depth = 0;
  for (let at = from; at < source.length; at++) {
    const mark = source[at];
    if (quote !== null) {
      if (mark === '\\') at += 1;
      else if (mark === quote) quote = null;
    } else if (mark === '"' || mark === "'") quote = mark;
    else if (mark === '{') depth += 1;
    else if (mark === '}' && depth > 0) depth -= 1;
    else if (mark === '}' && source[at + 1] === '}') return at;
  }
  return -1;
}
