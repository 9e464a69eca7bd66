export { envelopeOf, malformedVerdict } from './envelope.js';
export { eventFactsOf } from './event-facts.js';
export { judgeSignal, moduleOf, reread } from './modules.js';
export type { RecordedMessage, Reread } from './recorded.js';
export type { Hook, HookProof, HookReading, HookRequest, SourceModule } from './source-module.js';
