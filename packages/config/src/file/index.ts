export * from './read-file.js';
export * from './read-yaml.js';
