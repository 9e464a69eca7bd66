/** What a trigger of our own was told before there was work stands when its signal is decided again. */
import { systemIds } from '@headgate/domain';
import type { RecordedReceipt } from '@headgate/store';
import { aPolicy } from '@headgate/testkit';
import { expect, it } from 'vitest';
import { recordedSubmission } from '../src/index.js';

const AT = new Date('2026-11-30T10:00:00Z');

const aTick = (change: Partial<RecordedReceipt> = {}): RecordedReceipt => ({
  id: systemIds.next('rcpt'),
  tenant: 'default',
  source: 'schedule/sch_01k',
  eventId: AT.toISOString(),
  type: 'schedule.tick',
  trigger: 'schedule',
  via: 'timer',
  hookId: null,
  route: 'fix',
  repository: 'acme/api',
  workKey: 'git:1/schedule/sch_01k',
  inputVersion: 'c3'.repeat(20),
  outcome: 'accept',
  reasonCode: 'ADMITTED',
  rule: 'new-version',
  emittedAt: AT,
  receivedAt: AT,
  actor: null,
  payload: null,
  ...change,
});

it('I17: a tick that passed in a pause is not decided again, one that led to work is', () => {
  const settled = { outcome: 'no-work', reasonCode: 'MISSED_CATCHUP', rule: 'schedule.catch-up' } as const;
  const missed = aTick({ workKey: null, inputVersion: null, ...settled });
  expect(recordedSubmission(missed, aPolicy())?.verdict).toMatchObject(settled);
  expect(recordedSubmission(aTick(), aPolicy())?.verdict).toBeNull();
});
