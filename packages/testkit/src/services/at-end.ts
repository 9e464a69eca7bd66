import { onTestFinished, TestRunner } from 'vitest';

type Ending = () => Promise<void> | void;

/** Endings of what was opened outside a single test: in the file's body, in beforeAll. */
const endingsOfFile: Ending[] = [];

/** Called after each test file (test/each-file.ts): modules are loaded once for many files. */
export async function endOfFile(): Promise<void> {
  while (endingsOfFile.length > 0) await endingsOfFile.pop()?.();
}

/**
 * Runs `end` when what opened it is over: the test, if we are in one or in its beforeEach; else the file. Last
 * opened, first ended. Every resource of this kit registers itself here, so that a test that fails half-way
 * leaves nothing behind.
 */
export function atEnd(end: Ending): void {
  if (TestRunner.getCurrentTest() === undefined) endingsOfFile.push(end);
  else onTestFinished(end);
}
