/**
 * One CEL expression: compiled when the file is read, evaluated when a signal comes. Evaluation never
 * throws and is bounded: the tree has at most 200 nodes, functions come from an allow-list, lists are
 * walked one level deep, and a walk over an oversized payload is refused before it starts.
 */
import { TypeError as CelTypeError, Environment, EvaluationError, ParseError } from '@marcbachmann/cel-js';
import { type Complaint, suggest } from '../problems/index.js';
import { type ExpressionContext, GOAL_ROOTS, type GoalContext, type Roots, SIGNAL_ROOTS } from './context.js';
import { inspect } from './inspect.js';

const MAX_EXPRESSION_CHARACTERS = 2000;
/** Longest list times everything in the payload: what a walk costs at most, about a second of it. */
const MAX_WALK_COST = 2_000_000_000;

export interface Expression {
  /** CEL's name of the result's type as far as it is known beforehand: `bool`, `string`, `dyn` … */
  readonly type: string;
  readonly reads: ReadonlySet<string>;
  evaluate(
    context: ExpressionContext | GoalContext,
  ): { readonly value: unknown } | { readonly error: string };
}

export type Compiled =
  | { readonly ok: true; readonly expression: Expression }
  | { readonly ok: false; readonly problem: Complaint };

/** JSON has one kind of number, a double to CEL: `event.number + 1` would have no overload without these. */
const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
};

/** One for each set of roots: what an expression may read is known before it is run. */
const ENVIRONMENTS = new Map<Roots, Environment>([
  [SIGNAL_ROOTS, makeEnvironment(SIGNAL_ROOTS)],
  [GOAL_ROOTS, makeEnvironment(GOAL_ROOTS)],
]);

function makeEnvironment(roots: Roots): Environment {
  const made = new Environment({
    limits: { maxAstNodes: 200, maxDepth: 30, maxListElements: 100, maxMapEntries: 20, maxCallArguments: 8 },
  });
  for (const root of Object.keys(roots)) made.registerVariable(root, 'dyn');
  for (const [operator, apply] of Object.entries(ARITHMETIC)) {
    const numbers = (a: number | bigint, b: number | bigint): number => apply(Number(a), Number(b));
    made.registerOperator(`double ${operator} int`, numbers);
    made.registerOperator(`int ${operator} double`, numbers);
  }
  return made;
}

export function compileExpression(source: string, roots: Roots = SIGNAL_ROOTS): Compiled {
  if (source.trim() === '')
    return refuse('the expression is empty', 'Write a condition, or remove the line.');
  if (source.length > MAX_EXPRESSION_CHARACTERS) {
    return refuse(`the expression has more than ${MAX_EXPRESSION_CHARACTERS} characters`, 'Shorten it.');
  }
  try {
    const parsed = (ENVIRONMENTS.get(roots) ?? makeEnvironment(roots)).parse(source);
    const { complaint, reads, walksLists } = inspect(parsed.ast, roots);
    if (complaint !== null) return { ok: false, problem: complaint };
    const checked = parsed.check();
    if (!checked.valid) return { ok: false, problem: explain(checked.error, source, roots) };
    return {
      ok: true,
      expression: {
        type: checked.type ?? 'dyn',
        reads,
        evaluate: (context) => {
          if (walksLists && walkCost(context) > MAX_WALK_COST) {
            return { error: 'the payload is too large to walk its lists' };
          }
          try {
            return { value: parsed({ ...context }) as unknown };
          } catch (error) {
            return { error: explain(error, source, roots).message };
          }
        },
      },
    };
  } catch (error) {
    return { ok: false, problem: explain(error, source, roots) };
  }
}

const refuse = (message: string, fix: string): Compiled => ({ ok: false, problem: { message, fix } });

function explain(error: unknown, source: string, roots: Roots): Complaint {
  if (!(error instanceof ParseError || error instanceof CelTypeError || error instanceof EvaluationError)) {
    const text = error instanceof Error ? error.message : String(error);
    return { message: `the expression cannot be evaluated: ${text}`, fix: 'Simplify it.' };
  }
  if (error.code === 'unknown_variable') {
    const name = error.summary.replace(/^Unknown variable: /, '');
    return {
      message: `the expression reads "${name}", which is not there`,
      fix: `It may read ${Object.keys(roots).join(', ')}. ${hint(name, roots)}`.trim(),
    };
  }
  if (error.code === 'no_such_key') {
    const range = error.range;
    const field = error.summary.replace(/^No such key: /, '');
    const path = range === undefined ? field : pathUpTo(source, range.end, field);
    return { message: `there is no ${path}`, fix: 'Guard it with has().' };
  }
  if (error instanceof ParseError && /^Unexpected character: '?=/.test(error.summary)) {
    return { message: 'the expression has a single "="', fix: 'Write == to compare.' };
  }
  if (/^Exceeded max/.test(error.summary)) {
    return { message: 'the expression has too many parts', fix: 'Split the route, or shorten it.' };
  }
  const column = error.range === undefined ? '' : ` (at character ${error.range.start + 1})`;
  const summary = error.summary.replace(/^No such key: /, '');
  return error instanceof EvaluationError
    ? { message: `${summary}${column}`, fix: 'Guard it with has().' }
    : { message: `the expression is not valid CEL: ${summary}${column}`, fix: 'Correct it.' };
}

const hint = (name: string, roots: Roots): string => {
  const sentence = suggest(name, Object.keys(roots));
  if (sentence.startsWith('Did')) return sentence;
  return roots === GOAL_ROOTS
    ? `What was observed stands below observation: observation.json.${name}.`
    : `Payload fields stand below event: event.${name}.`;
};

/** The dotted path that ends at `end`, for an error that names only its last step. */
function pathUpTo(source: string, end: number, field: string): string {
  const path = /[\w.]+$/.exec(source.slice(0, end))?.[0] ?? field;
  return path.endsWith(field) ? path : field;
}

/** Longest list x number of values and characters. Stops counting once the product is too large. */
function walkCost(context: ExpressionContext | GoalContext): number {
  let total = 0;
  let longest = 1;
  const pending: unknown[] = Object.values(context);
  while (pending.length > 0 && longest * total <= MAX_WALK_COST) {
    const value = pending.pop();
    total += typeof value === 'string' ? value.length : 1;
    if (Array.isArray(value)) {
      longest = Math.max(longest, value.length);
      for (const item of value) pending.push(item);
    } else if (typeof value === 'object' && value !== null) {
      for (const item of Object.values(value)) pending.push(item);
    }
  }
  return longest * total;
}
