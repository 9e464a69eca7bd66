export { envelopeOf } from './envelope.js';
export { eventFactsOf } from './event-facts.js';
export { judgeSignal, moduleOf } from './modules.js';
export type { Hook, HookProof, HookReading, HookRequest, SourceModule } from './source-module.js';
