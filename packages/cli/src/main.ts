/** `headgate`. */
import { runCli } from './program.js';
import { processTerminal } from './terminal/terminal.js';

let stop: (() => void) | null = null;
let isStopping = false;

for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
  ['SIGHUP', 1],
] as const) {
  process.on(signal, () => {
    if (stop === null || isStopping) process.exit(128 + number);
    isStopping = true;
    stop();
  });
}

const code = await runCli(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  terminal: processTerminal(),
  now: () => new Date(),
  onInterrupt: (handler) => {
    stop = handler;
  },
});
// What is left (idle sockets, timers of libraries) must not keep a command that is done.
process.exit(code);
