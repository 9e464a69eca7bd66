import { formatId, formatIdOrNull, publicStatus } from '@headgate/domain';
import type { StreamChange } from '@headgate/sdk';
import type { FeedEvent } from '@headgate/store';
import { instantOf } from '../queries/index.js';
import { writePlace } from './place.js';
import type { Frame } from './subscriber.js';

export function changeFrame(incarnation: string, event: FeedEvent): Frame {
  const data: StreamChange = {
    eventId: formatId('evt', event.id),
    at: instantOf(event.at),
    type: event.type,
    runId: formatIdOrNull('run', event.runId),
    taskId: formatIdOrNull('task', event.taskId),
    from: event.from,
    to: event.to,
    publicStatus: event.to === null ? null : publicStatus(event.to),
    reasonCode: event.reasonCode,
    attempt: event.attemptNo,
  };
  return { event: 'change', data, id: writePlace({ incarnation, xid: event.xid, id: event.id }) };
}
