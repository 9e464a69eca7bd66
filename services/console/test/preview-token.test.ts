import { type RunId, systemIds } from '@headgate/domain';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { previewToken, readPreviewToken } from '../src/bulk/preview-token.js';

const question = { action: 'cancel', filter: { route: 'tidy', status: 'QUEUED' } };

it('gives back exactly the runs that were shown, in their order', () => {
  fc.assert(
    fc.property(fc.array(fc.uuid(), { maxLength: 200 }), (ids) => {
      const runIds = ids as RunId[];
      expect(readPreviewToken(question, previewToken(question, runIds))).toEqual({ kind: 'runs', runIds });
    }),
  );
});

it('is for one action and filter, in whatever order its names are written', () => {
  const token = previewToken(question, [systemIds.next('run')]);
  const sameInOtherOrder = { filter: { status: 'QUEUED', route: 'tidy' }, action: 'cancel' };
  expect(readPreviewToken(sameInOtherOrder, token).kind).toBe('runs');
  for (const other of [
    { ...question, action: 'replay' },
    { ...question, filter: { route: 'tidy' } },
    { ...question, filter: { route: 'other', status: 'QUEUED' } },
  ]) {
    expect(readPreviewToken(other, token)).toEqual({ kind: 'other' });
  }
});

it('reads no run out of anything else', () => {
  const token = previewToken(question, [systemIds.next('run')]);
  for (const text of ['', 'x', token.slice(0, -2), `${token}AA`, 'ü'.repeat(40)]) {
    expect(readPreviewToken(question, text).kind, text).toBe('unreadable');
  }
});
