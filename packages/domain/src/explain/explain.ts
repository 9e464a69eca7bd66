/**
 * *Why*: from the rows about a thing to the chain that led to where it stands (I17). Pure: what was read decides what
 * is said, and a rule is only named if a receipt names it.
 */
import { formatId } from '../ids.js';
import { counted, durationInWords, quoted } from '../sentences.js';
import type { Candidate, Explained, ExplanationKind } from './explanation.js';
import type { Facts, RunFact, SourceSight } from './facts.js';
import { stepsOf } from './steps.js';
import { summaryOf, verdictOn, type WaitingWords } from './summary.js';

export interface ExplainInput {
  readonly ref: string;
  readonly kind: Exclude<ExplanationKind, 'none'>;
  readonly facts: Facts;
  readonly waiting: WaitingWords | null;
  /** More was found than is told. */
  readonly isCut: boolean;
}

/** Tasks that are offered for a closer look when a reference means several. */
const MAX_CANDIDATES = 20;

/** The chain behind what was found. */
export function explain(input: ExplainInput): Explained {
  const { facts } = input;
  const inOrder = sorted(facts);
  const summary = [verdictOn(input.ref, inOrder), summaryOf(inOrder, input.waiting)].join(' ').trimStart();
  return {
    kind: input.kind,
    summary: input.isCut ? `${summary} Only the newest are shown.` : summary,
    steps: stepsOf(facts),
    candidates: candidatesOf(facts),
  };
}

const sorted = (facts: Facts): Facts => ({
  ...facts,
  receipts: [...facts.receipts].sort((a, b) => a.at.getTime() - b.at.getTime()),
});

/** One for each task, when there are several. */
function candidatesOf(facts: Facts): readonly Candidate[] {
  const newest = new Map<string, RunFact>();
  for (const run of facts.runs) {
    const known = newest.get(run.taskId);
    if (known === undefined || known.id < run.id) newest.set(run.taskId, run);
  }
  if (newest.size < 2) return [];
  return [...newest.values()].slice(0, MAX_CANDIDATES).map((run) => ({
    kind: 'task',
    id: formatId('task', run.taskId),
    label: `${run.workKey} (${run.repository ?? run.route}, ${run.status})`,
  }));
}

/** Nothing is known: what we did see, and what to check. */
export function explainNothing(ref: string, sources: readonly SourceSight[], now: Date): Explained {
  const seen = sources.map((sight) => ({
    kind: 'source',
    id: sight.source,
    label: sightWords(sight, now),
  }));
  const checks = [
    'Was it sent to this instance, and to a source that is configured? The last delivery of each source is below.',
    'Does the sender show it as delivered? GitHub lists recent deliveries with our answer under the hook’s or App’s settings.',
    'Is it older than the retention of receipts, or does it belong to a tenant that this token may not see?',
  ].map((label, at) => ({ kind: 'check', id: `check-${at + 1}`, label }));
  return {
    kind: 'none',
    summary: `Nothing is known about ${quoted(ref)}. ${
      sources.length === 0
        ? 'No source has delivered anything yet.'
        : `${counted(sources.length, 'source')} known; see what each delivered last.`
    }`,
    steps: [],
    candidates: [...checks, ...seen],
  };
}

const sightWords = (sight: SourceSight, now: Date): string =>
  [arrivalWords(sight, now), lookWords(sight, now)].filter((part) => part !== '').join(' ');

/** When somebody looked at it last, and whether there was anything new. */
function lookWords({ look }: SourceSight, now: Date): string {
  if (look == null) return '';
  const ago = durationInWords(now.getTime() - look.lookedAt.getTime());
  const found =
    look.outcome !== 'looked'
      ? `the look failed (${look.outcome})`
      : look.quietLooks > 0
        ? 'nothing new was found'
        : 'what was found has its receipts';
  return `Last looked at ${ago} ago (${look.repository}): ${found}.`;
}

function arrivalWords(sight: SourceSight, now: Date): string {
  if (sight.lastAt === null) return 'Configured; nothing has arrived from it.';
  const ago = durationInWords(now.getTime() - sight.lastAt.getTime());
  return `Last delivery ${ago} ago (${sight.lastAt.toISOString()}): ${sight.lastType ?? '?'}, ${
    sight.lastOutcome ?? '?'
  } with ${sight.lastReasonCode ?? '?'}.`;
}
