/**
 *   why  acme/api#42
 *   A run started and ended.
 *   ├ 13:50:01  check_run.completed accepted   ADMITTED   route fix-failing-check
 *   │ └ …
 *
 * Signals stand at the first level; what became of the run that a signal led to hangs below it.
 */
import type { Explanation, ExplanationStep } from '@headgate/sdk';
import { outcomeColor } from './outcome.js';
import type { Terminal } from './terminal.js';
import { timeOfDay } from './words.js';

interface Branch {
  readonly step: ExplanationStep;
  readonly below: ExplanationStep[];
}

export function explanationTree(explanation: Explanation, terminal: Terminal): string {
  const { colors } = terminal;
  const { ref, kind, summary, steps, waiting, candidates } = explanation;
  const branches = grow(steps);
  const lines = branches.flatMap(({ step, below }, index) => {
    const isLast = index === branches.length - 1 && waiting === null;
    const edge = isLast ? '└' : '├';
    const trunk = isLast ? ' ' : '│';
    return [
      `${colors.dim(edge)} ${stepLine(step, terminal)}`,
      ...below.map((it, at) => {
        const twig = at === below.length - 1 ? '└' : '├';
        return `${colors.dim(`${trunk}   ${twig}`)} ${stepLine(it, terminal)}`;
      }),
    ];
  });
  return [
    `${colors.dim('why')}  ${colors.bold(ref)}${kind === 'none' ? '' : colors.dim(`  (${kind})`)}`,
    summary,
    ...lines,
    ...(waiting === null
      ? []
      : [
          `${colors.dim('└')} ${colors.yellow('○ waits')} since ${timeOfDay(waiting.since)}  ${waiting.reasonCode}: ${waiting.message}`,
          `      starts when ${waiting.wouldStartWhen}`,
        ]),
    ...(candidates.length === 0
      ? []
      : [
          '',
          kind === 'none' ? 'What to look at:' : 'It may also mean:',
          ...candidates.map(({ id, label }) => `  ${label === id ? id : `${id}  ${colors.dim(label)}`}`),
        ]),
  ].join('\n');
}

/** A decision begins a branch; what happened to its run later belongs below it. */
function grow(steps: readonly ExplanationStep[]): readonly Branch[] {
  const branches: Branch[] = [];
  const ofRun = new Map<string, Branch>();
  for (const step of steps) {
    const home = step.runId === null ? undefined : ofRun.get(step.runId);
    if (step.outcome === null && home !== undefined) {
      home.below.push(step);
      continue;
    }
    const branch: Branch = { step, below: [] };
    branches.push(branch);
    if (step.runId !== null && !ofRun.has(step.runId)) ofRun.set(step.runId, branch);
  }
  return branches;
}

function stepLine(step: ExplanationStep, { colors }: Terminal): string {
  const paint = outcomeColor(step.outcome, colors);
  const details = [
    step.rule === null ? '' : `rule ${step.rule}`,
    step.actor === null ? '' : `by ${step.actor}`,
    step.outcome === null ? '' : (step.runId ?? step.receiptId ?? ''),
  ].filter((part) => part !== '');
  return [
    timeOfDay(step.at),
    step.outcome === null ? step.type : paint(step.outcome),
    ...(step.reasonCode === null ? [] : [colors.bold(step.reasonCode)]),
    step.message,
    ...(details.length === 0 ? [] : [colors.dim(details.join(', '))]),
  ].join('  ');
}
