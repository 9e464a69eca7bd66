/** The schema, its enums, and column types that the driver or drizzle do not have by themselves. */
import { RUN_STATUSES } from '@headgate/domain';
import { customType, numeric, pgSchema, timestamp } from 'drizzle-orm/pg-core';

export const headgate = pgSchema('headgate');

export const runStatus = headgate.enum('run_status', RUN_STATUSES);
export const itemState = headgate.enum('item_state', ['delayed', 'ready', 'dispatched']);
export const itemWait = headgate.enum('item_wait', ['capacity', 'backoff']);

export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });
export const usd = (name: string) => numeric(name, { precision: 14, scale: 6, mode: 'number' });

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
/** A bigint in decimal: fencing tokens outgrow a number. */
export const decimalText = customType<{ data: string }>({ dataType: () => 'bigint' });
/** A transaction's number: 64 bits, in decimal. */
export const xid8 = customType<{ data: string }>({ dataType: () => 'xid8' });
/** `infinity` is read as null: what is due only when something releases it. */
export const instantOrNever = customType<{ data: Date | null; driverData: string }>({
  dataType: () => 'timestamp with time zone',
  fromDriver: (text) => (text === 'infinity' ? null : new Date(text)),
});
