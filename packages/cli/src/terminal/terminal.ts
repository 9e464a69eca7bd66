/** Where a command writes. Injected, so that tests read what a person would. */
import pc from 'picocolors';

export type Colors = ReturnType<typeof pc.createColors>;

export interface Terminal {
  /** The result; with --json exactly one document. */
  out(text: string): void;
  /** Progress and problems. */
  note(text: string): void;
  /** Whether stdout is read by a person: then output may be redrawn. */
  readonly isLive: boolean;
  readonly columns: number;
  readonly colors: Colors;
}

const NARROW = 80;

/** NO_COLOR and FORCE_COLOR are respected; without a terminal there is no colour. */
export function processTerminal(env: NodeJS.ProcessEnv = process.env): Terminal {
  const isLive = process.stdout.isTTY === true && env['TERM'] !== 'dumb';
  const wants = env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '0';
  const refuses = (env['NO_COLOR'] ?? '') !== '';
  return {
    out: (text) => write(process.stdout, text),
    note: (text) => write(process.stderr, text),
    isLive,
    columns: process.stdout.columns ?? NARROW,
    colors: pc.createColors(!refuses && (isLive || wants)),
  };
}

function write(stream: NodeJS.WriteStream, text: string): void {
  stream.write(text.endsWith('\n') ? text : `${text}\n`);
}
