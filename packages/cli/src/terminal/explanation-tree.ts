/**
 *   why  acme/api#42
 *   A run started and ended.
 *   ├ 13:50:01  check_run.completed accepted   ADMITTED   route fix-failing-check
 *   │ └ …
 *
 * Signals stand at the first level; what became of the run that a signal led to hangs below it: step by step when it is
 * the only run, else without the ordinary steps.
 */
import type { Explanation, ExplanationStep } from '@headgate/sdk';
import { withoutOrdinarySteps } from './ordinary-steps.js';
import { outcomeColor } from './outcome.js';
import type { Terminal } from './terminal.js';
import { timeOfDay } from './words.js';
import { wrapped } from './wrap.js';

interface Branch {
  readonly step: ExplanationStep;
  readonly below: ExplanationStep[];
}

export function explanationTree(explanation: Explanation, terminal: Terminal): string {
  const { colors } = terminal;
  const { ref, kind, summary, steps, waiting, candidates } = explanation;
  const branches = grow(steps);
  const hasOneRun = new Set(steps.flatMap(({ runId }) => runId ?? [])).size <= 1;
  const lines = branches.flatMap(({ step, below }, index) => {
    const isLast = index === branches.length - 1 && waiting === null;
    const edge = isLast ? '└' : '├';
    const trunk = isLast ? ' ' : '│';
    const told = hasOneRun ? { steps: below, leftOut: 0 } : withoutOrdinarySteps(below);
    const twigs = [
      ...told.steps.map((it) => stepLine(it, terminal)),
      ...(told.leftOut === 0
        ? []
        : [colors.dim(`${told.leftOut} ordinary steps: headgate why ${step.runId}`)]),
    ];
    const stem = twigs.length === 0 ? trunk : `${trunk}   │`;
    return [
      ...wrapped(`${colors.dim(edge)} ${stepLine(step, terminal)}`, terminal, hanging(stem, 2, colors)),
      ...twigs.flatMap((line, at) => {
        const isLastTwig = at === twigs.length - 1;
        const twig = `${colors.dim(`${trunk}   ${isLastTwig ? '└' : '├'}`)} ${line}`;
        return wrapped(twig, terminal, hanging(`${trunk}   ${isLastTwig ? ' ' : '│'}`, 6, colors));
      }),
    ];
  });
  return [
    `${colors.dim('why')}  ${colors.bold(ref)}${kind === 'none' ? '' : colors.dim(`  (${kind})`)}`,
    ...wrapped(summary, terminal),
    ...lines,
    ...(waiting === null
      ? []
      : [
          ...wrapped(
            `${colors.dim('└')} ${colors.yellow('○ waits')} since ${timeOfDay(waiting.since)}  ${waiting.reasonCode}: ${waiting.message}`,
            terminal,
            ' '.repeat(6),
          ),
          ...wrapped(`      starts when ${waiting.wouldStartWhen}`, terminal, ' '.repeat(8)),
        ]),
    ...(candidates.length === 0
      ? []
      : [
          '',
          kind === 'none' ? 'What to look at:' : 'It may also mean:',
          ...candidates.flatMap(({ kind, id, label }) =>
            wrapped(
              kind === 'check' || label === id ? `  ${label}` : `  ${id}  ${colors.dim(label)}`,
              terminal,
              ' '.repeat(4),
            ),
          ),
        ]),
  ].join('\n');
}

/** What stands before a step's further lines: the tree goes on, and the text begins under the step's own. */
const hanging = (stem: string, indent: number, colors: Terminal['colors']): string =>
  `${colors.dim(stem)}${' '.repeat(Math.max(0, indent + TIME_WIDTH - stem.length))}`;
/** `13:50:01` and the gap behind it. */
const TIME_WIDTH = 10;

/** A decision begins a branch. What became of a run hangs below the first decision that names it. */
function grow(steps: readonly ExplanationStep[]): readonly Branch[] {
  const homes = new Map<string, ExplanationStep>();
  for (const step of steps) {
    if (isDecision(step) && step.runId !== null && !homes.has(step.runId)) homes.set(step.runId, step);
  }
  const branches = new Map<ExplanationStep, Branch>();
  const begin = (step: ExplanationStep): Branch => {
    const branch: Branch = branches.get(step) ?? { step, below: [] };
    branches.set(step, branch);
    return branch;
  };
  for (const step of steps) {
    const home = isDecision(step) || step.runId === null ? undefined : homes.get(step.runId);
    if (home === undefined) begin(step);
    // The rows of one commit share an instant, and a run's may be listed before the decision's.
    else begin(home).below.push(step);
  }
  return [...branches.values()];
}

/** A closing receipt belongs to its run, as its end. */
const isDecision = ({ type, outcome }: ExplanationStep): boolean =>
  outcome !== null && type !== 'receipt.closing';

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
    ...(step.count === 1 ? [] : [colors.bold(`${step.count} times, until ${timeOfDay(step.lastAt)}`)]),
    ...(details.length === 0 ? [] : [colors.dim(details.join(', '))]),
  ].join('  ');
}
