/** What an observation of a goal saw, as its run hands it in. Data of others: bounded, never trusted. */

/** As the `until` of a goal sees it. What does not belong to its kind is null. */
export interface ObservationFacts {
  readonly kind: 'command' | 'http';
  readonly exitCode: number | null;
  /** The end of what the command printed. */
  readonly output: string | null;
  readonly status: number | null;
  readonly body: string | null;
  /** The last line of the output, or the body, where it is JSON; else null. */
  readonly json: unknown;
  /** Commit and branch that were looked at. */
  readonly version: string | null;
  readonly ref: string | null;
}

export type ObservationReport =
  | { readonly kind: 'seen'; readonly facts: ObservationFacts }
  /** It could not be told: a time-out, an address that does not answer. */
  | { readonly kind: 'unknown'; readonly detail: string };

/** What an observation keeps of text. */
export const OBSERVED_CHARACTERS = 4_096;

/** JSON of the last line that is not empty, or of the whole; null = neither is JSON. */
export function jsonIn(text: string): unknown {
  const lines = text.trim().split('\n');
  return parsed(text) ?? parsed(lines.at(-1) ?? '');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** From the evidence of an attempt, which is JSON of our own writing; null = it holds no observation. */
export function readReport(evidence: unknown): ObservationReport | null {
  if (typeof evidence !== 'object' || evidence === null || !('observation' in evidence)) return null;
  const { observation } = evidence;
  if (typeof observation !== 'object' || observation === null || !('kind' in observation)) return null;
  return observation.kind === 'seen' || observation.kind === 'unknown'
    ? (observation as ObservationReport)
    : null;
}
