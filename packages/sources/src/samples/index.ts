export { allSamples, findSample, type Sample, type SampleSearch, sampleNames } from './catalogue.js';
export { type SampleDelivery, type SampleDeliveryOptions, sampleDelivery } from './delivery.js';
export { type AskedSample, type CloudEventMode, readSampleName, type SampleReading } from './family.js';
export { cloudEventDelivery, messageDelivery } from './plain-events.js';
export { rewriteSample, type SampleSubject } from './rewrite.js';
