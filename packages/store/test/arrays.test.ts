/** Array parameters that are encoded here say to Postgres what the driver's own text would. */
import { systemIds } from '@headgate/domain';
import { testStore } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { arrayOf } from '../src/connection/arrays.js';

const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  uuid: [systemIds.next('run'), null, 'FFFFFFFF-0000-7000-8000-00000000000A'],
  text: ['', null, 'NULL', '{"a,b"}', 'back\\slash "quoted"', 'žluťoučký 🐎', 'x'.repeat(3_000), '\ud800'],
  int: [0, null, -1, 2_147_483_647, -2_147_483_648],
  bigint: [0, null, '9223372036854775807', -9_007_199_254_740_991],
  boolean: [true, null, false],
  timestamptz: [
    new Date(0),
    null,
    new Date('1999-12-31T23:59:59.999Z'),
    new Date('2026-02-28T12:00:00.123Z'),
    new Date('0001-01-01T00:00:00Z'),
    new Date('9999-12-31T23:59:59.999Z'),
  ],
  bytea: [Buffer.alloc(0), null, Buffer.from([0, 255, 92, 34]), Buffer.alloc(2_000, 7)],
  jsonb: ['{}', null, '{"a":["\\u0001",1e3,null,"🐎"]}'],
  numeric: [1.25, null, -0.000001],
};

describe('array parameters', () => {
  test.each(Object.entries(VALUES))(
    'of %s arrive as they would by the driver, nulls too',
    async (type, values) => {
      const db = await testStore();
      const read = (parameter: unknown) =>
        db.service.use((c) =>
          c.query(`select n, v::text from unnest($1::${type}[]) with ordinality as u(v, n)`, [parameter]),
        );
      expect(await read(arrayOf(type, values))).toEqual(await read(values));
      expect(await read(arrayOf(type, []))).toEqual([]);
    },
  );

  test.each([
    ['int', 2_147_483_648],
    ['int', 1.5],
    ['timestamptz', new Date(Number.NaN)],
  ])('of %s refuse %s before anything is sent', (type, value) => {
    expect(() => arrayOf(type, [value])).toThrow();
  });
});
