export { EventStream } from './event-stream.js';
