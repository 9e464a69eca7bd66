import type { SourceModule } from '../kinds/source-module.js';

/** CloudEvents come to `POST /v1/events` with an API token; which source is meant, the event says. */
export const cloudEvents: SourceModule = { kind: 'cloudevents', hook: null, judge: () => null };
