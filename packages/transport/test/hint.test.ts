import { formatId, systemIds } from '@headgate/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeHint,
  encodeHint,
  HINT_JOB_NAME,
  type HintJob,
  MAX_HINT_AGE_MS,
  MAX_HINT_BYTES,
} from '../src/hint.js';
import { aHint } from './bus-fixture.js';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const NOW_MS = Date.parse('2027-03-01T12:00:00Z');

function aJob(changes: Partial<HintJob> = {}): HintJob {
  const encoded = encodeHint(aHint({ traceparent: TRACEPARENT }));
  if (encoded === null) throw new Error('not a hint');
  return { id: encoded.jobId, name: HINT_JOB_NAME, data: encoded.data, publishedAtMs: NOW_MS, ...changes };
}

const aDispatchNo = fc.integer({ min: 1, max: 2_147_483_647 });

describe('the hint on the wire', () => {
  it('C3: carries ids and trace context only, under the job id {run_…}-{dispatch number}', () => {
    const hint = aHint({ dispatchNo: 3, traceparent: TRACEPARENT });
    expect(encodeHint(hint)).toEqual({
      jobId: `${formatId('run', hint.runId)}-3`,
      data: { runId: formatId('run', hint.runId), dispatchNo: 3, traceparent: TRACEPARENT },
    });
  });

  it('comes back as it was sent, whatever the numbers', () => {
    fc.assert(
      fc.property(
        aDispatchNo,
        fc.option(fc.constant(TRACEPARENT), { nil: null }),
        (dispatchNo, traceparent) => {
          const hint = aHint({ dispatchNo, traceparent });
          const encoded = encodeHint(hint);
          if (encoded === null) throw new Error('refused');
          expect(encoded.jobId).not.toContain(':');
          expect(JSON.stringify(encoded.data).length).toBeLessThan(MAX_HINT_BYTES / 4);
          const job = { id: encoded.jobId, name: HINT_JOB_NAME, data: encoded.data, publishedAtMs: NOW_MS };
          expect(decodeHint('default', job, NOW_MS)).toEqual({
            kind: 'hint',
            hint: { ...hint, publishedAt: new Date(NOW_MS) },
          });
        },
      ),
    );
  });

  it.each([
    ['a run id that is no UUID', aHint({ runId: 'a:b' as never })],
    ['dispatch number 0', aHint({ dispatchNo: 0 })],
    ['half a dispatch number', aHint({ dispatchNo: 1.5 })],
    ['a dispatch number that is not a number', aHint({ dispatchNo: Number.NaN })],
  ])('is not made of %s', (_, hint) => {
    expect(encodeHint(hint)).toBeNull();
  });

  it('loses a broken trace context and nothing else', () => {
    expect(encodeHint(aHint({ traceparent: 'nonsense' }))?.data.traceparent).toBeNull();
  });
});

describe('reading what lies in Redis', () => {
  it('Q2: never throws and never takes garbage for a hint, whatever somebody put there', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), fc.string(), fc.double(), (data, id, name, publishedAtMs) => {
        expect(decodeHint('default', { id, name, data, publishedAtMs }, NOW_MS)).toEqual({
          kind: 'dropped',
          reason: 'malformed',
        });
      }),
    );
  });

  it.each([
    ['a job id that belongs to another run', aJob({ id: `${formatId('run', systemIds.next('run'))}-1` })],
    ['an automatic job id', aJob({ id: '17' })],
    ['no job id', aJob({ id: undefined })],
    ['another job name', aJob({ name: 'cleanup' })],
    ['no time', aJob({ publishedAtMs: Number.NaN })],
    ['the id of a task', aJob({ data: { runId: formatId('task', systemIds.next('task')), dispatchNo: 1 } })],
  ])('drops a job with %s', (_, job) => {
    expect(decodeHint('default', job, NOW_MS)).toEqual({ kind: 'dropped', reason: 'malformed' });
  });

  it('I20: lets unknown fields of a newer version pass', () => {
    const job = aJob();
    const newer = { ...job, data: { ...(job.data as object), tenant: 7 } };
    expect(decodeHint('default', newer, NOW_MS).kind).toBe('hint');
  });

  it('Q2: drops an ancient hint, but bears a publisher whose clock is hours off', () => {
    const at = (publishedAtMs: number) => decodeHint('default', aJob({ publishedAtMs }), NOW_MS);
    expect(at(NOW_MS - MAX_HINT_AGE_MS - 1)).toEqual({ kind: 'dropped', reason: 'ancient' });
    expect(at(NOW_MS - 3 * 3_600_000).kind).toBe('hint');
    expect(at(NOW_MS + 3 * 3_600_000).kind).toBe('hint');
  });
});
