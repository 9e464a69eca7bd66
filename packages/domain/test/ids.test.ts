import fc from 'fast-check';
import { TypeID } from 'typeid-js';
import { expect, test } from 'vitest';
import { formatId, parseId, type RunId, systemIds } from '../src/index.js';

const anyUuid = fc.uuid();

test('an id is written as the TypeID specification has it, and read back as it was', () => {
  fc.assert(
    fc.property(anyUuid, (uuid) => {
      const written = formatId('run', uuid as RunId);
      expect(written).toBe(TypeID.fromUUID('run', uuid).toString());
      expect(parseId('run', written)).toBe(uuid);
    }),
  );
});

test('the smallest and the largest id have all of their digits', () => {
  const smallest = '00000000-0000-0000-0000-000000000000' as RunId;
  const largest = 'ffffffff-ffff-ffff-ffff-ffffffffffff' as RunId;
  expect(formatId('run', smallest)).toBe('run_00000000000000000000000000');
  expect(formatId('run', largest)).toBe('run_7zzzzzzzzzzzzzzzzzzzzzzzzz');
});

test('what is no id is refused, and another kind is not read as this one', () => {
  expect(() => formatId('run', 'no-uuid' as RunId)).toThrow(SyntaxError);
  expect(parseId('run', formatId('task', systemIds.next('task')))).toBeNull();
  expect(parseId('run', 'run_8zzzzzzzzzzzzzzzzzzzzzzzzz')).toBeNull();
});
