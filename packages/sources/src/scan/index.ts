export type { AnswerValidator, Change, FactMemory, Look, LookRequest } from './look.js';
export { lookAt } from './scanner.js';
