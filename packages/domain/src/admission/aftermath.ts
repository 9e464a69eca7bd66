/** What a decision leaves beside itself: a person's act begins chains anew, a refused request is answered. */
import type { ReasonCode } from '../reasons.js';
import { makerOf } from './guard.js';
import { isNews } from './news.js';
import type { AdmissionState, AdmissionWrite, Decision } from './types.js';

export const aftermath = (state: AdmissionState, decision: Decision): readonly AdmissionWrite[] => [
  ...touch(state, decision),
  ...feedback(decision),
];

/** These say that nobody did anything new. */
const NO_NEWS: readonly ReasonCode[] = ['DUPLICATE_DELIVERY', 'DUPLICATE_HOOK', 'SELF_TRIGGERED'];

/** A person's act counts whatever was decided about it; a push by a person unless it is of our own commit. */
function touch(state: AdmissionState, { candidate, reasonCode }: Decision): readonly AdmissionWrite[] {
  const { cause } = candidate;
  if (cause == null || !cause.isByPerson || !isNews(candidate)) return [];
  if (NO_NEWS.includes(reasonCode) || makerOf(state, candidate) !== null) return [];
  return [{ kind: 'touch', candidate }];
}

/** Nobody is told about what concerns only us: no route wants it, it came twice, we said it ourselves. */
const SILENT: readonly ReasonCode[] = ['NO_ROUTE', ...NO_NEWS];

function feedback({ candidate, outcome, reasonCode, message }: Decision): readonly AdmissionWrite[] {
  const at = candidate.asked ?? null;
  if (at === null || outcome !== 'reject' || SILENT.includes(reasonCode)) return [];
  return [{ kind: 'feedback', candidate, at, reasonCode, message }];
}
