import type { BulkRun } from '@headgate/sdk';
import { describe, expect, it } from 'vitest';
import { cameOf, filterOfQuery, filterOfRows } from '../src/runs/bulk.js';

describe('an act on many runs', () => {
  it('is about the chosen rows, or about all that the filter shows', () => {
    expect(filterOfRows(new Set(['run_1', 'run_2']))).toEqual({ ids: 'run_1,run_2' });
    expect(filterOfQuery({ route: 'tidy', publicStatus: 'waiting' })).toEqual({
      route: 'tidy',
      publicStatus: 'waiting',
    });
  });

  it('is never about every run there is, nor about why runs wait at this moment', () => {
    expect(filterOfQuery({})).toBeNull();
    expect(filterOfQuery({ waitingReason: 'READY', route: 'tidy' })).toBeNull();
  });

  it('says how many were done, told to stop, and left alone for which reason', () => {
    const aRun = (runId: string, change: Partial<BulkRun>): BulkRun => ({
      runId,
      status: 'QUEUED',
      outcome: 'done',
      newRunId: null,
      code: null,
      detail: null,
      ...change,
    });
    const ended = { outcome: 'skipped', code: 'WRONG_STATE', detail: 'It has ended meanwhile.' } as const;
    const came = cameOf([
      aRun('run_1', {}),
      aRun('run_2', { outcome: 'requested' }),
      aRun('run_3', ended),
      aRun('run_4', ended),
      aRun('run_5', { outcome: 'refused', code: 'WORK_IN_PROGRESS' }),
    ]);
    expect(came).toEqual({
      done: 1,
      requested: 1,
      leftOut: [
        { code: 'WRONG_STATE', detail: 'It has ended meanwhile.', runIds: ['run_3', 'run_4'] },
        { code: 'WORK_IN_PROGRESS', detail: null, runIds: ['run_5'] },
      ],
    });
  });
});
