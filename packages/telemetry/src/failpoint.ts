/**
 * Named places where a test can stop, kill or fail one actor exactly there. Free when unset: one comparison.
 *
 * HEADGATE_FAILPOINTS="worker.claim.committed=kill;effects.called=stop@2" sets them for a process, read once at
 * the start; actions: kill (SIGKILL), stop (SIGSTOP, goes on after SIGCONT), throw, delay:<ms>, hold:<file>
 * (waits until the file appears), each with an optional `@n` = only the n-th pass. Inside a process tests use
 * `armFailPoint`. Each action is announced first by the test signal `failpoint.reached`.
 *
 * Passes are counted per thread, as each thread has its own copy of this module.
 */
import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type FailPointAction,
  type FailPointRule,
  parseFailPointAction,
  parseFailPoints,
} from './failpoint-rule.js';
import { testSignal } from './test-signal.js';

export const FAIL_POINTS = [
  'intake.batch.before',
  'intake.batch.committed',
  'dispatch.marked',
  'dispatch.committed',
  'dispatch.published',
  'worker.hint.received',
  'worker.claim.before',
  'worker.claim.committed',
  'worker.attempt.begun',
  'worker.workspace.prepared',
  'worker.agent.started',
  'worker.agent.exited',
  'worker.observed',
  'worker.collected',
  'worker.verified',
  'worker.judged',
  'worker.sealed',
  'effects.intended',
  'effects.attempted',
  'effects.called',
  'effects.confirmed',
  'worker.finish.before',
  'worker.finish.committed',
  'reconciler.reap.locked',
  'reconciler.repair.before',
  'feedback.attempted',
  'feedback.called',
  'heads.read',
  'scan.looked',
  'scan.admitted',
  'redelivery.begun',
  'reconciler.file.read',
] as const;
export type FailPoint = (typeof FAIL_POINTS)[number];

/** What `throw` throws: a fault, as any other. */
export class FailPointError extends Error {
  readonly code = 'HEADGATE_FAILPOINT';
  constructor(readonly failPoint: FailPoint) {
    super(`Fail-point ${failPoint} was told to throw.`);
    this.name = 'FailPointError';
  }
}

/** A fail-point armed by a test in the same process. */
export interface ArmedFailPoint {
  readonly name: FailPoint;
  /** Resolves when the action begins for the first time. */
  readonly reached: Promise<void>;
  /** How often the point was passed since it was armed, acted upon or not. */
  passes(): number;
  /** Lets every pass that is held, or will be, go on. Only means something for `hold`. */
  release(): void;
  /** Takes the action away; what is held goes on. */
  disarm(): void;
}

interface Armed {
  readonly rule: FailPointRule;
  readonly reached: () => void;
  readonly released: Promise<void>;
  passes: number;
}

const HOLD_POLL_MS = 10;
const NOTHING: Promise<void> = Promise.resolve();
/** Null unless something is armed: that comparison is all an unarmed point costs. */
let armedPoints: Map<FailPoint, Armed[]> | null = null;

function add(name: FailPoint, armed: Armed): void {
  armedPoints ??= new Map();
  const list = armedPoints.get(name);
  if (list === undefined) armedPoints.set(name, [armed]);
  else list.push(armed);
}

function remove(name: FailPoint, armed: Armed): void {
  const left = (armedPoints?.get(name) ?? []).filter((other) => other !== armed);
  if (left.length > 0) armedPoints?.set(name, left);
  else armedPoints?.delete(name);
  if (armedPoints?.size === 0) armedPoints = null;
}

async function act(name: FailPoint, armed: Armed): Promise<void> {
  testSignal('failpoint.reached', { failPoint: name, action: armed.rule.kind, pass: armed.passes });
  armed.reached();
  switch (armed.rule.kind) {
    case 'kill':
      process.kill(process.pid, 'SIGKILL');
      // Nothing behind the point may run while the signal is on its way.
      return new Promise(() => {});
    case 'stop':
      process.kill(process.pid, 'SIGSTOP');
      return;
    case 'throw':
      throw new FailPointError(name);
    case 'delay':
      await wait(armed.rule.delayMs);
      return;
    case 'hold': {
      const { file } = armed.rule;
      if (file === null) return armed.released;
      while (!existsSync(file)) await wait(HOLD_POLL_MS);
      return;
    }
  }
}

async function pass(name: FailPoint): Promise<void> {
  for (const armed of armedPoints?.get(name) ?? []) {
    armed.passes += 1;
    if (armed.rule.onlyPass === null || armed.rule.onlyPass === armed.passes) await act(name, armed);
  }
}

/** Await it where a crash would be interesting. Resolves at once unless a test armed the point. */
export function failPoint(name: FailPoint): Promise<void> {
  return armedPoints === null ? NOTHING : pass(name);
}

/** Arms a point in this process, e.g. `armFailPoint('worker.sealed', 'hold')`. Throws on an unknown action. */
export function armFailPoint(name: FailPoint, action: FailPointAction): ArmedFailPoint {
  const rule = parseFailPointAction(action);
  if (rule === null) throw new Error(`"${action}" is no fail-point action.`);
  let reached: () => void = () => {};
  let release: () => void = () => {};
  const whenReached = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const armed: Armed = { rule, reached, released, passes: 0 };
  add(name, armed);
  return {
    name,
    reached: whenReached,
    passes: () => armed.passes,
    release,
    disarm: () => {
      remove(name, armed);
      release();
    },
  };
}

/** Disarms everything, also what the environment set. For the end of a test. */
export function disarmAllFailPoints(): void {
  armedPoints = null;
}

function armFromEnvironment(text: string | undefined): void {
  if (text === undefined || text.trim() === '') return;
  const parsed = parseFailPoints(text, FAIL_POINTS);
  if (!parsed.ok) throw new Error(`HEADGATE_FAILPOINTS: ${parsed.problem}.`);
  for (const { name, rule } of parsed.rules) {
    add(name, { rule, reached: () => {}, released: NOTHING, passes: 0 });
  }
}

// At import, so that a misspelt point stops the process before it does anything.
armFromEnvironment(process.env['HEADGATE_FAILPOINTS']);
