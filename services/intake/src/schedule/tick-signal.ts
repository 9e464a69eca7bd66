import { formatId, type Signal } from '@headgate/domain';
import type { ScheduleRow } from '@headgate/store';
import { currentTraceparent } from '@headgate/telemetry';
import { wholeRepository } from '../repositories/reached.js';
import type { TickBatch } from './settle-ticks.js';
import type { ScheduleTarget } from './targets.js';

/**
 * A tick as a signal. Its event id is the nominal time (and the target; and for what a person asked, that), so the same
 * tick submitted twice is one delivery; its place in the source's order is the nominal time.
 */
export function tickSignal(
  { row, route, origin, requestedBy }: Pick<TickBatch, 'row' | 'route' | 'origin' | 'requestedBy'>,
  nominalAt: Date,
  target: ScheduleTarget,
): Signal {
  const { repository, head, key } = target;
  const time = nominalAt.toISOString();
  const moment = origin === 'timer' ? time : `${origin}/${time}`;
  return {
    ...scheduleSignal(row),
    ...(origin === 'timer' ? {} : { via: 'api' as const }),
    eventId: key === '' ? moment : `${moment}/${key}`,
    subject: repository?.fullName ?? route?.id ?? row.route,
    emittedAt: nominalAt,
    repository,
    target: repository === null ? null : wholeRepository(repository),
    inputVersion: head.kind === 'head' ? head.sha : null,
    sourceAt: nominalAt,
    data: { ...scheduleData(row), nominalAt: time, origin, requestedBy },
  };
}

/** Several nominal times that nobody ticked for, as one signal: the receipt that says so. */
export const missedSignal = (row: ScheduleRow, missed: { from: Date; to: Date; count: number }): Signal => ({
  ...scheduleSignal(row),
  eventId: `missed/${missed.from.toISOString()}/${missed.to.toISOString()}`,
  emittedAt: missed.to,
  data: {
    ...scheduleData(row),
    missed: { from: missed.from.toISOString(), to: missed.to.toISOString(), count: missed.count },
  },
});

const scheduleSignal = (row: ScheduleRow): Signal => ({
  source: `schedule/${formatId('sch', row.id)}`,
  eventId: '',
  type: 'schedule.tick',
  trigger: 'schedule',
  via: 'timer',
  hookId: null,
  subject: row.route,
  emittedAt: null,
  receivedAt: row.now,
  actor: { kind: 'schedule', id: formatId('sch', row.id), name: row.route },
  repository: null,
  target: null,
  inputVersion: null,
  sourceAt: null,
  parentVersions: [],
  data: null,
  traceparent: currentTraceparent(),
});

const scheduleData = (row: ScheduleRow) => ({ route: row.route, scheduleId: formatId('sch', row.id) });
