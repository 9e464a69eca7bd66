/** What an ended observation says: the condition holds, it does not, or it cannot be told. Pure. */
import { type CompiledCondition, compileGoalCondition, goalContext } from '@headgate/config';
import {
  hash16,
  type ObservationFacts,
  type Observed,
  type RepositoryRef,
  readReport,
} from '@headgate/domain';
import type { RunEnd } from '@headgate/store';

export interface Judged {
  readonly observed: Observed;
  readonly facts: ObservationFacts | null;
}

/** Compiled conditions by their text: a configuration has few. */
const compiled = new Map<string, CompiledCondition>();
const REMEMBERED = 200;

export function judge(end: RunEnd, until: string, repository: RepositoryRef): Judged {
  if (end.status !== 'SUCCEEDED') {
    return unknown(`Its run ended ${end.status}${end.reasonCode === null ? '' : ` (${end.reasonCode})`}.`);
  }
  const report = readReport(end.evidence);
  if (report === null) return unknown('Its run left no observation.');
  if (report.kind === 'unknown') return unknown(report.detail);
  const { facts } = report;
  const condition = conditionOf(until);
  const holds = condition.ok
    ? condition.evaluate(goalContext(facts, repository))
    : { error: condition.problem.message };
  if ('error' in holds) return { ...unknown(`The condition cannot be evaluated: ${holds.error}.`), facts };
  return {
    facts,
    observed: holds.value ? { kind: 'holds' } : { kind: 'open', fingerprint: fingerprintOf(facts) },
  };
}

function conditionOf(until: string): CompiledCondition {
  const known = compiled.get(until);
  if (known !== undefined) return known;
  if (compiled.size >= REMEMBERED) compiled.clear();
  const made = compileGoalCondition(until);
  compiled.set(until, made);
  return made;
}

const unknown = (detail: string): Judged => ({ facts: null, observed: { kind: 'unknown', detail } });

/** Of what was seen, not of where: the same failure at another commit is no progress. */
const fingerprintOf = ({ exitCode, output, status, body }: ObservationFacts): string =>
  hash16(JSON.stringify([exitCode, output, status, body])).toString('hex');
