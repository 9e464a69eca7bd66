export { allSamples, findSample, type Sample, type SampleSearch, sampleNames } from './catalogue.js';
export { type SampleDelivery, type SampleDeliveryOptions, sampleDelivery } from './delivery.js';
export { rewriteSample, type SampleSubject } from './rewrite.js';
