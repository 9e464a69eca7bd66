export * from './explain.js';
export type {
  Candidate as ExplanationCandidate,
  Explained,
  ExplanationKind,
  Step as ExplanationStep,
} from './explanation.js';
export * from './facts.js';
export * from './reference.js';
export type { WaitingWords } from './summary.js';
export * from './timers.js';
