/**
 * Prompts: text with `{{ path }}` in it. A prompt is an instruction, so nothing that anybody can write may stand in it:
 * a path names an id, a number or a SHA, by a closed rule that is asked when the file is read; and the value must look
 * like one when a signal brings it. Titles, bodies, names and logs reach the agent as files.
 *
 *   version                         the version the run is for
 *   repository.id                   the forge's number
 *   target.kind, target.id          pull_request 7
 *   event.….id|number|sha|before|after, or ending in _id, _number, _sha    of the payload
 *
 * What a signal does not bring (a person's, of a route that listens to events too) is written as `unknown`.
 */
import type { Complaint } from '../problems/index.js';
import { type ExpressionContext, expressionContext } from './context.js';

export interface PromptContext {
  readonly signal: Parameters<typeof expressionContext>[0];
  /** Null: not known yet. */
  readonly version: string | null;
  /** Of the run that is run again: what its own signal brought. */
  readonly before: PromptValues;
}

/** By path. */
export type PromptValues = Readonly<Record<string, string>>;

export type RenderedPrompt =
  | { readonly kind: 'prompt'; readonly text: string; readonly values: PromptValues }
  | { readonly kind: 'refused'; readonly detail: string };

export type CompiledPrompt =
  | { readonly ok: true; render(context: PromptContext): RenderedPrompt }
  | { readonly ok: false; readonly problem: Complaint };

const UNKNOWN = 'unknown';
const PATH = /^[A-Za-z_]\w{0,99}(?:\.[A-Za-z_]\w{0,99}){0,9}$/;
const OURS: ReadonlySet<string> = new Set(['version', 'repository.id', 'target.kind', 'target.id']);
const OF_EVENT = /^event\.(?:\w+\.)*(?:(?:\w+_)?(?:id|number|sha)|before|after)$/;

export function compilePrompt(source: string): CompiledPrompt {
  const parts: { readonly text: string; readonly isPath: boolean }[] = [];
  let at = 0;
  for (;;) {
    const open = source.indexOf('{{', at);
    if (open < 0) break;
    const close = source.indexOf('}}', open);
    if (close < 0) return refused('a "{{" in the prompt is not closed', 'Close it with "}}".');
    const path = source.slice(open + 2, close).trim();
    const problem = problemWith(path);
    if (problem !== null) return { ok: false, problem };
    parts.push({ text: source.slice(at, open), isPath: false }, { text: path, isPath: true });
    at = close + 2;
  }
  parts.push({ text: source.slice(at), isPath: false });
  return { ok: true, render: (context) => render(parts, context) };
}

const refused = (message: string, fix: string): CompiledPrompt => ({ ok: false, problem: { message, fix } });

const MAY_READ =
  'A prompt may read version, repository.id, target.kind, target.id, and of the payload what ends in id, number, sha, before or after';

function problemWith(path: string): Complaint | null {
  if (!PATH.test(path)) {
    return {
      message: `"{{ ${path} }}" in a prompt is not a path`,
      fix: `${MAY_READ}: {{ event.check_run.id }}.`,
    };
  }
  if (OURS.has(path) || OF_EVENT.test(path)) return null;
  return {
    message: `${path} may hold text that anybody can write, and a prompt is an instruction`,
    fix: `${MAY_READ}. The agent finds the rest in its input file.`,
  };
}

function render(
  parts: readonly { readonly text: string; readonly isPath: boolean }[],
  { signal, version, before }: PromptContext,
): RenderedPrompt {
  const context = expressionContext(signal);
  const values: Record<string, string> = {};
  let text = '';
  for (const part of parts) {
    if (!part.isPath) {
      text += part.text;
      continue;
    }
    const value = written(valueAt(part.text, context, version));
    if (value === null) {
      return {
        kind: 'refused',
        detail: `${part.text} is no id, number or SHA, and nothing else may stand in a prompt.`,
      };
    }
    const known = value === UNKNOWN ? (before[part.text] ?? UNKNOWN) : value;
    if (known !== UNKNOWN) values[part.text] = known;
    text += known;
  }
  return { kind: 'prompt', text, values };
}

function valueAt(path: string, context: ExpressionContext, version: string | null): unknown {
  let node: unknown = { ...context, version };
  for (const step of path.split('.')) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, step)) return null;
    node = Reflect.get(node, step);
  }
  return node;
}

/** A number, a SHA or another hexadecimal id (`git:…`, `comment:…`), a UUID, an instant, or a kind of target of ours. */
const SHAPES: readonly RegExp[] = [
  /^\d{1,20}$/,
  /^(?:[a-z]{1,20}:)?[0-9a-f]{7,64}$/,
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/,
  /^(?:pull_request|branch|issue|repository)$/,
];

/** Null: it is something else. */
function written(value: unknown): string | null {
  if (value === null || value === undefined) return UNKNOWN;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  return typeof value === 'string' && SHAPES.some((shape) => shape.test(value)) ? value : null;
}
