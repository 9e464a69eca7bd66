export { EXIT, type ExitCode } from './exit.js';
export { runCli } from './program.js';
