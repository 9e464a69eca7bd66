import type { Condition, Signal } from '@headgate/domain';
import type { Complaint } from '../problems/index.js';
import {
  type ExpressionContext,
  expressionContext,
  GOAL_ROOTS,
  type GoalContext,
  type Roots,
} from './context.js';
import { compileExpression } from './expression.js';

/** An error is not a "no" that was meant: the caller treats it as not eligible and says the detail. */
export type Judgement = { readonly value: boolean } | { readonly error: string };

export type CompiledCondition =
  | {
      readonly ok: true;
      /** Dotted paths that the condition reads. */
      readonly reads: ReadonlySet<string>;
      evaluate(context: ExpressionContext | GoalContext): Judgement;
    }
  | { readonly ok: false; readonly problem: Complaint };

/** Compiles a `when`. Evaluation never throws. */
export const compileCondition = (source: string): CompiledCondition => compileFor(source);

/** Compiles the `until` of a goal. */
export const compileGoalCondition = (source: string): CompiledCondition => compileFor(source, GOAL_ROOTS);

function compileFor(source: string, roots?: Roots): CompiledCondition {
  const compiled = compileExpression(source, roots);
  if (!compiled.ok) return compiled;
  const { expression } = compiled;
  if (expression.type !== 'bool' && expression.type !== 'dyn') {
    return {
      ok: false,
      problem: {
        message: `the condition gives ${expression.type === 'int' ? 'a number' : `a ${expression.type}`}, not true or false`,
        fix:
          roots === GOAL_ROOTS
            ? 'Compare it with something: observation.exitCode == 0.'
            : 'Compare it with something: event.action == "opened".',
      },
    };
  }
  return {
    ok: true,
    reads: expression.reads,
    evaluate: (context) => {
      const result = expression.evaluate(context);
      if ('error' in result) return result;
      return typeof result.value === 'boolean'
        ? { value: result.value }
        : { error: 'the condition gave neither true nor false' };
    },
  };
}

/** Compiled conditions kept at once; a policy has a few dozen, replays of old policies some more. */
const KEPT_CONDITIONS = 1000;

/**
 * What `routeSignal` asks: does the route's `when` let this signal pass? `when` filters events; a schedule
 * tick or a person has no event to filter, so for them it is true. Compiles each source once.
 */
export function conditionEvaluator(): (condition: Condition, signal: Signal) => Judgement {
  const compiled = new Map<string, CompiledCondition>();
  return (condition, signal) => {
    if (signal.trigger !== 'event') return { value: true };
    let known = compiled.get(condition.source);
    if (known === undefined) {
      if (compiled.size >= KEPT_CONDITIONS) compiled.clear();
      known = compileCondition(condition.source);
      compiled.set(condition.source, known);
    }
    return known.ok ? known.evaluate(expressionContext(signal)) : { error: known.problem.message };
  };
}
