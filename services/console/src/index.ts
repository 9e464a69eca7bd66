export { type ConsoleOptions, createConsole } from './console.js';
