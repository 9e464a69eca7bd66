/** What `headgate send` tells a person. */
import type { SignalAnswer } from '@headgate/sdk';
import type { SampleDelivery } from '@headgate/sources';
import { outcomeWord } from '../terminal/outcome.js';
import { pairs } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { type Answer, isSigned } from './deliver.js';

export interface Sent {
  readonly sample: string;
  readonly deliveryId: string;
  readonly url: string;
  readonly answers: readonly Answer[];
}

/**
 *   Sent check_run.completed#0 (delivery 7f3c…)
 *   accept  ADMITTED  The work was admitted and a run was made.
 *     receipt  rcpt_…
 *     run      run_…
 */
export function answerLines({ sample, deliveryId, url, answers }: Sent, terminal: Terminal): string {
  const { colors } = terminal;
  const times = answers.length === 1 ? '' : ` ${answers.length} times`;
  const head = `Sent ${colors.bold(sample)}${times} to ${url} as delivery ${deliveryId}`;
  const groups = grouped(answers);
  const bodies = groups.map(({ first, count }) => {
    const many = answers.length === 1 ? '' : `${String(count).padStart(3)} × `;
    return many + (isSigned(first) ? oneAnswer(first.answer, terminal) : oneProblem(first, terminal));
  });
  return [head, ...bodies, ...advice(answers, terminal)].join('\n');
}

export function oneAnswer(answer: SignalAnswer, terminal: Terminal): string {
  const { colors } = terminal;
  const lines: (readonly [string, string])[] = [['receipt', answer.receiptId]];
  if (answer.runId !== null) lines.push([answer.existing ? 'run (before)' : 'run', answer.runId]);
  if (answer.retryAfter !== null) lines.push(['again at', answer.retryAfter]);
  return `${outcomeWord(answer.outcome, colors)}  ${colors.bold(answer.reasonCode)}  ${answer.message}\n${pairs(terminal, lines)}`;
}

function oneProblem(
  { httpStatus, problem }: Extract<Answer, { kind: 'problem' }>,
  { colors }: Terminal,
): string {
  const { code = `HTTP_${httpStatus}`, detail = problem.title ?? '' } = problem;
  return `${colors.red(`refused with ${httpStatus}`)}  ${colors.bold(code)}  ${detail}`;
}

/** Answers that say the same, in the order in which they first came. */
function grouped(answers: readonly Answer[]): readonly { first: Answer; count: number }[] {
  const groups = new Map<string, { first: Answer; count: number }>();
  for (const it of answers) {
    const key = isSigned(it)
      ? `${it.answer.reasonCode}/${it.answer.runId}`
      : `${it.httpStatus}/${it.problem.code}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: it, count: 1 });
    else group.count += 1;
  }
  return [...groups.values()].sort((a, b) => rankOf(a.first) - rankOf(b.first));
}

const rankOf = (it: Answer): number => (isSigned(it) ? (it.answer.outcome === 'accept' ? 0 : 1) : 2);

/** Nothing ran, and a newcomer may wonder why. */
function advice(answers: readonly Answer[], { colors }: Terminal): readonly string[] {
  const codes = new Set(answers.filter(isSigned).map(({ answer }) => answer.reasonCode));
  if (codes.has('ADMITTED')) return [];
  if (codes.has('DUPLICATE_WORK')) {
    return [
      'This commit has had its run, so nothing runs again: that is the point.',
      `For new work: ${colors.bold('headgate send --fresh')} commits a new defect to the branch first.`,
    ];
  }
  if (codes.has('DUPLICATE_DELIVERY')) {
    return ['This delivery id was seen before. Without --delivery each send is a new one.'];
  }
  return [];
}

export function printRequest(
  delivery: SampleDelivery,
  url: string,
  isJson: boolean,
  terminal: Terminal,
): void {
  const { method, path, headers, body } = delivery;
  const text = body.toString('utf8');
  if (isJson) {
    terminal.out(JSON.stringify({ method, url: `${url}${path}`, headers, body: text }));
    return;
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  terminal.out([`${method} ${url}${path}`, ...lines, '', text].join('\n'));
}
