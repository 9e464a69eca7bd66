import type { Actor } from '@headgate/domain';
import { malformed } from '../kinds/envelope.js';
import type { RecordedMessage } from '../kinds/recorded.js';
import type { HookReading, SourceModule } from '../kinds/source-module.js';
import { readCloudEvent } from './read.js';
import { malformedCloudEvent, signalOfCloudEvent } from './signal.js';

const NOBODY: Actor = { kind: 'token', id: '', name: '' };

function reread({ source, body, headers, mediaType, receivedAt, actor }: RecordedMessage): HookReading {
  const request = { source, receivedAt, traceparent: null, actor: actor ?? NOBODY };
  const reading = readCloudEvent(body, { ...headers, 'content-type': mediaType });
  return reading.kind === 'event'
    ? { kind: 'signal', signal: signalOfCloudEvent(reading.event, request) }
    : malformed(malformedCloudEvent(body, request), reading.detail, reading.kind === 'unsupported-media');
}

/** CloudEvents come to `POST /v1/events` with an API token; which source is meant, the event says. */
export const cloudEvents: SourceModule = { kind: 'cloudevents', hook: null, reread, judge: () => null };
