/**
 * Starting a process that has the descriptors it was given, and none that the worker was started with: Node shuts
 * those below 16 and forgets the others, so whatever our own parent left open (a lock, a log, a socket of a service
 * manager) would be the agent's.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';

interface AloneOptions extends Pick<SpawnOptions, 'cwd' | 'env' | 'detached'> {
  readonly stdio: readonly ('ignore' | 'pipe')[];
}

export function spawnAlone(argv: readonly string[], options: AloneOptions): ChildProcess {
  const [command = '', ...args] = argv;
  const stdio: ('ignore' | 'pipe' | number)[] = [...options.stdio];
  const nothing = openSync('/dev/null', 'r');
  try {
    for (const descriptor of inheritedDescriptors()) {
      // "ignore" leaves those above 2 as they are.
      while (stdio.length < descriptor) stdio.push('ignore');
      if (descriptor >= options.stdio.length) stdio[descriptor] = nothing;
    }
    return spawn(command, args, { ...options, stdio });
  } finally {
    closeSync(nothing);
  }
}

/** Close on exec, in the octal flags of /proc/self/fdinfo. All that Node opens has it. */
const CLOSE_ON_EXEC = 0o2_000_000;

/** In their order. Empty where the system does not say. */
function inheritedDescriptors(): readonly number[] {
  try {
    return readdirSync('/proc/self/fdinfo')
      .map(Number)
      .filter(isInherited)
      .sort((a, b) => a - b);
  } catch {
    return [];
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    return false; // It was the listing's own.
  }
}
