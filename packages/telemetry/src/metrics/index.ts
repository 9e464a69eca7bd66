export * from './catalogue.js';
export * from './instruments.js';
export { largestLabelSets } from './label-guard.js';
export * from './prometheus-name.js';
export type { AlertHint, LabelSpec, MetricKind, MetricSpec } from './spec.js';
