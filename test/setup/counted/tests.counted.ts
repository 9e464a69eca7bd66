import { beforeAll, describe, expect, test } from 'vitest';

test('passes', () => expect(1).toBe(1));
test('fails', () => expect(1).toBe(2));
test.skip('is skipped', () => {});
test('leaves a rejection behind', () => {
  void Promise.reject(new Error('nobody handles this'));
});
describe('a group whose hook fails', () => {
  beforeAll(() => {
    throw new Error('the hook fails');
  });
  test('never runs', () => {});
});
