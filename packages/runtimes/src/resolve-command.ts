/** From the words of the configuration to a program that can be run. */
import { existsSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, SYSTEM_PATH } from './sandbox/launch.js';

/** The name under which the agent that ships with Headgate is configured. */
export const EXAMPLE_AGENT = 'headgate-example-agent';

export type ResolvedCommand =
  | { readonly kind: 'resolved'; readonly argv: readonly string[]; readonly isExampleAgent: boolean }
  | { readonly kind: 'not-found'; readonly detail: string };

export function resolveCommand(command: readonly string[]): ResolvedCommand {
  const [name, ...args] = command;
  if (name === undefined || name === '') return { kind: 'not-found', detail: 'the command is empty' };
  if (name === EXAMPLE_AGENT) {
    const program = exampleAgentProgram();
    if (program === null)
      return { kind: 'not-found', detail: `${EXAMPLE_AGENT} is not built; run the build first` };
    return { kind: 'resolved', argv: [process.execPath, program, ...args], isExampleAgent: true };
  }
  const found = isAbsolute(name) ? (existsSync(name) ? name : null) : findProgram(name, searchPath());
  if (found === null) return { kind: 'not-found', detail: `there is no program ${JSON.stringify(name)}` };
  return { kind: 'resolved', argv: [found, ...args], isExampleAgent: false };
}

const searchPath = (): string => `${dirname(process.execPath)}:${SYSTEM_PATH}`;

/** Plain JavaScript beside this file when we run built, in `dist` when we run from source. */
function exampleAgentProgram(): string | null {
  for (const place of ['./example-agent/main.js', '../dist/example-agent/main.js']) {
    const file = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(file)) return file;
  }
  return null;
}
