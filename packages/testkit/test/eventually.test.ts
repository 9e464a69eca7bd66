import { describe, expect, test } from 'vitest';
import { eventually } from '../src/index.js';

describe('eventually', () => {
  test('returns the first answer that is there', async () => {
    const answers = [null, false, undefined, 0];
    expect(await eventually(() => answers.shift(), { what: 'a number', everyMs: 1 })).toBe(0);
  });

  test('takes a fault as "not yet"', async () => {
    let asked = 0;
    const ask = () => {
      asked += 1;
      if (asked < 3) throw new Error('too early');
      return 'there';
    };
    expect(await eventually(ask, { what: 'an answer', everyMs: 1 })).toBe('there');
  });

  test('says at the deadline what it waited for and what it saw last', async () => {
    const options = { what: 'the run is claimed', deadlineMs: 30, everyMs: 1 };
    await expect(eventually(() => false, options)).rejects.toThrow(
      'not within 30 ms: the run is claimed (last answer: false)',
    );
    const failing = () => Promise.reject(new Error('connection refused'));
    await expect(eventually(failing, options)).rejects.toThrow(/last fault: Error: connection refused/);
  });

  test('does not wait for a question that hangs', async () => {
    const hanging = () => new Promise<never>(() => {});
    await expect(eventually(hanging, { what: 'anything', deadlineMs: 30 })).rejects.toThrow(/never answered/);
  });
});
