export { EXAMPLE_AGENT_COMMAND } from './agents.js';
export { type HeadgateFile, jsonSchema } from './headgate-file.js';
export { formatDuration, parseDuration } from './scalars.js';
