import { createHash } from 'node:crypto';
import type { Actor, Signal, SourcePolicy } from '@headgate/domain';
import { envelopeOf, idOfBytes } from '../kinds/envelope.js';
import { placeOf } from '../kinds/place.js';
import type { HookRequest } from '../kinds/source-module.js';
import { type CloudEvent, dataIn } from './read.js';

type Request = Pick<HookRequest, 'source' | 'receivedAt' | 'traceparent'> & { readonly actor: Actor };

/** Source and id together name an event; long ones are known by their digest (an index holds them). */
function eventIdOf({ source, id }: CloudEvent): string {
  const both = `${source} ${id}`;
  return both.length <= 512 ? both : `sha256:${createHash('sha256').update(both, 'utf8').digest('hex')}`;
}

export function signalOfCloudEvent(event: CloudEvent, request: Request): Signal {
  const type = `cloudevents.${event.type}`;
  const eventId = eventIdOf(event);
  const ms = event.time === null ? Number.NaN : Date.parse(event.time);
  const emittedAt = Number.isFinite(ms) ? new Date(ms) : null;
  const aspect = event.subject === null ? event.type : `${event.type}/${event.subject}`;
  const place = placeOf({ source: request.source, data: dataIn(event), aspect, eventId, emittedAt });
  const subject = event.subject ?? place.subject;
  const known = { type, eventId, emittedAt, actor: request.actor, via: 'api' as const, data: event.whole };
  return envelopeOf(request, { ...place, ...known, subject });
}

/** For the receipt of one that could not be read. */
export const malformedCloudEvent = (rawBody: Uint8Array, request: Request): Signal =>
  envelopeOf(request, { eventId: idOfBytes(rawBody), type: 'cloudevents', via: 'api', actor: request.actor });

/** Which of the sources an event belongs to: the first whose `from` names its source. A pattern may end in `*`. */
export function sourceOfCloudEvent(event: CloudEvent, sources: readonly SourcePolicy[]): SourcePolicy | null {
  const matches = (pattern: string): boolean =>
    pattern.endsWith('*') ? event.source.startsWith(pattern.slice(0, -1)) : event.source === pattern;
  return sources.find(({ from }) => from.length === 0 || from.some(matches)) ?? null;
}
