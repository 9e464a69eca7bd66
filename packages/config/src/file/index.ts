export * from './read-file.js';
export * from './read-yaml.js';
export { MAX_FILE_BYTES } from './yaml-shape.js';
