/**
 * The ordinary way of a run, left out where several runs are told beside each other: a person who asked about a
 * repository looks for what differs. What stays is every decision, every loss, defer, cancel and refusal, each effect
 * that was confirmed, and how the run ended or stands. Asked about alone, a run is told step by step.
 */
import type { ExplanationStep } from '@headgate/sdk';

const ORDINARY: ReadonlySet<string> = new Set([
  'run.admitted',
  'run.queued',
  'run.claimed',
  'run.preparing_sandbox',
  'run.running',
  'run.verifying',
  'run.judging',
  'run.finalizing',
  'run.succeeded',
  'operation.intended',
  'operation.attempted',
  'attempt.succeeded',
]);

export interface Told {
  readonly steps: readonly ExplanationStep[];
  readonly leftOut: number;
}

/** The last step stays whatever it is: it says where the run is now. */
export function withoutOrdinarySteps(steps: readonly ExplanationStep[]): Told {
  const told = steps.filter(({ type }, index) => index === steps.length - 1 || !ORDINARY.has(type));
  return { steps: told, leftOut: steps.length - told.length };
}
