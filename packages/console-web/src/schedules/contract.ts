/** What a schedule promises, in words. */
import type { Schedule, TickOriginAnswer } from '@headgate/sdk';
import { term } from '../parts/moment.js';

export type Overlap = Schedule['overlap'];

/** While the tick before has not ended. */
export const OVERLAPS: Readonly<Record<Overlap, string>> = {
  skip: 'a tick is skipped while the run before it lives',
  bufferOne: 'one tick waits for the run before it, further ones are skipped',
  bufferAll: 'all wait, and run one after the other',
  cancelOther: 'the run before it is asked to stop',
  terminateOther: 'the run before it is stopped, even while it hands in its result',
  allowAll: 'they run side by side',
};

export const ORIGINS: Readonly<Record<TickOriginAnswer, string>> = {
  timer: 'timer',
  trigger: 'run now',
  backfill: 'back-fill',
};

export function catchUpWords({ mode, windowMs, max }: Schedule['catchUp']): string {
  switch (mode) {
    case 'none':
      return 'nothing runs late';
    case 'latest':
      return `the newest time runs late, within ${term(windowMs)}`;
    case 'all':
      return `the newest ${max} run late, within ${term(windowMs)}`;
  }
}
