import type { Part } from '../harness/row.js';
import { backlog } from './backlog.js';
import { counts } from './counts.js';
import { faults } from './faults.js';
import { idle } from './idle.js';
import { intake } from './intake.js';
import { latency } from './latency.js';
import { lifecycle } from './lifecycle.js';
import { others } from './others.js';
import { receipts } from './receipts.js';

/** In the order of the report. */
export const PARTS: readonly Part[] = [
  intake,
  lifecycle,
  latency,
  backlog,
  counts,
  idle,
  faults,
  receipts,
  others,
];
