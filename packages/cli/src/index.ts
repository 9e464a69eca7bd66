export { EXIT, type ExitCode } from './exit.js';
export { programOf, runCli } from './program.js';
