/**
 * The intake decision: a pure fold over a batch of signals (law 6, SQL rule 9). Each signal sees what the
 * earlier ones of its batch did, so that a batch decides exactly what the same signals would have got one at
 * a time: how many are committed together changes latency, never results.
 */
import { decideOne } from './decide-one.js';
import { draftOf, evolveDraft } from './evolve.js';
import type { AdmissionState, Candidate, Decision } from './types.js';

/**
 * One decision per candidate, in their order; none for the further routes of a delivery that was seen before or is an
 * echo of ours: it is answered once.
 *
 * Every candidate that carries work and no rejecting verdict needs its task in `state.tasks`; a missing one is
 * a fault of the caller and throws.
 */
export function decideBatch(state: AdmissionState, candidates: readonly Candidate[]): readonly Decision[] {
  const draft = draftOf(state);
  const decisions: Decision[] = [];
  let isAnswered = false;
  for (const candidate of candidates) {
    if (candidate.isFurtherRoute && isAnswered) continue;
    const decision = decideOne(draft, candidate);
    evolveDraft(draft, decision);
    decisions.push(decision);
    if (!candidate.isFurtherRoute) isAnswered = isAnsweredOnce(decision);
  }
  return decisions;
}

/** Whatever its routes are: the signal came before, as this delivery or by another hook, or it is our own doing. */
export const isAnsweredOnce = ({ reasonCode }: Decision): boolean =>
  reasonCode === 'DUPLICATE_DELIVERY' || reasonCode === 'DUPLICATE_HOOK' || reasonCode === 'SELF_TRIGGERED';
