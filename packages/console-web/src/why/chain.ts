/** The steps of an explanation as a tree: what became of a run hangs below the first signal that led to it. Pure. */
import type { ExplanationStep } from '@headgate/sdk';

export interface Branch {
  readonly step: ExplanationStep;
  readonly below: readonly ExplanationStep[];
}

export function chainOf(steps: readonly ExplanationStep[]): readonly Branch[] {
  const homes = new Map<string, ExplanationStep>();
  for (const step of steps) {
    if (isDecision(step) && step.runId !== null && !homes.has(step.runId)) homes.set(step.runId, step);
  }
  const branches = new Map<ExplanationStep, ExplanationStep[]>();
  const begin = (step: ExplanationStep): ExplanationStep[] => {
    const below = branches.get(step) ?? [];
    branches.set(step, below);
    return below;
  };
  for (const step of steps) {
    const home = isDecision(step) || step.runId === null ? undefined : homes.get(step.runId);
    if (home === undefined) begin(step);
    else begin(home).push(step);
  }
  return [...branches].map(([step, below]) => ({ step, below }));
}

/** A closing receipt belongs to its run, as its end. */
export const isDecision = ({ type, outcome }: ExplanationStep): boolean =>
  outcome !== null && type !== 'receipt.closing';
