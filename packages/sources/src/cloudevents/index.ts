export { attributeHeaders, type CloudEvent, type CloudEventReading, readCloudEvent } from './read.js';
export { malformedCloudEvent, signalOfCloudEvent, sourceOfCloudEvent } from './signal.js';
