/** A plain table that scrolls by itself where the window is narrow: the page never does. */
import type { ReactNode } from 'react';
import classes from './table.module.css';

export interface TableRow {
  readonly key: string;
  readonly cells: readonly ReactNode[];
}

export function Table(props: {
  readonly label: string;
  readonly columns: readonly string[];
  /** Those of the columns that hold numbers: they stand by their last digit. */
  readonly numbers?: readonly string[];
  readonly rows: readonly TableRow[];
}) {
  const { label, columns, numbers = [], rows } = props;
  const classOf = (column: string | undefined): string | undefined =>
    column !== undefined && numbers.includes(column) ? classes['number'] : undefined;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={classes['scroll']} aria-label={label} tabIndex={0}>
      <table className={classes['table']}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col" className={classOf(column)}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>
              {row.cells.map((cell, index) => (
                <td key={columns[index]} className={classOf(columns[index])}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
