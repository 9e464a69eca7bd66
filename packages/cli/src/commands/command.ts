/** What every command is given. */
import type { Terminal } from '../terminal/terminal.js';

export interface CommandContext {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly terminal: Terminal;
  readonly now: () => Date;
  /** Calls `stop` instead of ending at once when the person interrupts; a second interrupt ends at once. */
  onInterrupt(stop: () => void): void;
  /** How the process is to end; 0 if it is never called. */
  exit(code: number): void;
}
