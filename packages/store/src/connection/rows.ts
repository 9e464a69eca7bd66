/** Multi-row inserts by `unnest`: one statement and one round trip, whatever the number of rows. */
import { arrayOf } from './arrays.js';
import type { Connection } from './connection.js';
import { type Statement, statement } from './statement.js';

export interface Column<Row> {
  readonly name: string;
  /** Element type of the array parameter: `uuid`, `text`, `jsonb` … */
  readonly type: string;
  /** Cast in the select list, for what unnest cannot carry (arrays in arrays travel as text). */
  readonly cast?: string;
  /** Instead of the value itself: an expression over it, written `u.<name>`. */
  readonly expression?: string;
  readonly value: (row: Row) => unknown;
}

export interface RowInsert<Row> {
  readonly statement: Statement;
  readonly insert: (connection: Connection, rows: readonly Row[]) => Promise<number>;
}

/** @param suffix e.g. `order by 1 on conflict do nothing` */
export function rowInsert<Row>(
  name: string,
  table: string,
  columns: readonly Column<Row>[],
  suffix = '',
): RowInsert<Row> {
  const names = columns.map((column) => column.name).join(', ');
  const picks = columns.map(pick).join(', ');
  const arrays = columns.map((column, at) => `$${at + 1}::${column.type}[]`).join(', ');
  const declared = statement(
    name,
    `insert into headgate.${table} (${names})
     select ${picks}
       from unnest(${arrays}) as u(${names})
     ${suffix}`,
  );
  return {
    statement: declared,
    insert: async (connection, rows) =>
      rows.length === 0
        ? 0
        : connection.count(
            declared,
            columns.map((column) =>
              arrayOf(
                column.type,
                rows.map((row) => storable(column, row)),
              ),
            ),
          ),
  };
}

const storable = <Row>(column: Column<Row>, row: Row): unknown => {
  const value = column.value(row);
  return column.type === 'text' && typeof value === 'string' ? plainText(value) : value;
};

const pick = <Row>({ name, cast, expression }: Column<Row>): string =>
  expression ?? (cast === undefined ? `u.${name}` : `u.${name}::${cast}`);

/** A Postgres array literal, for a `text[]` that travels as text inside an array parameter. */
export const arrayLiteral = (items: readonly string[]): string =>
  `{${items.map((item) => `"${item.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`).join(',')}}`;

// NUL and lone surrogates, as JSON.stringify writes them: an escape after an even number of backslashes.
const UNSTORABLE = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

/**
 * JSON as text, for a jsonb parameter. jsonb can hold neither NUL nor half a surrogate pair, and both come from
 * outside (payloads, the output of agents): they become U+FFFD, or one such string would refuse its whole batch.
 */
export const json = (value: unknown): string | null =>
  value === undefined || value === null ? null : JSON.stringify(value).replace(UNSTORABLE, '$1\\ufffd');

/** Text that Postgres can hold: NUL becomes U+FFFD. */
export const plainText = (text: string | null): string | null => text?.replaceAll('\u0000', '\ufffd') ?? null;
