/** Problems of the configuration, so that a person can mend them one after the other. */
import { relative } from 'node:path';
import type { Problem } from '@headgate/config';
import type { Terminal } from './terminal.js';
import { count } from './words.js';

/**
 *   headgate.yaml has 2 problems:
 *
 *     headgate.yaml:12:5  routes.tidy.moed
 *       "moed" is not known here. Did you mean "mode"?
 */
export function problemLines(
  problems: readonly Problem[],
  file: string,
  { colors }: Pick<Terminal, 'colors'>,
): string {
  const shown = shortPath(file);
  const blocks = problems.map(({ path, line, column, message, fix }) => {
    const place = line === null ? shown : `${shown}:${line}:${column ?? 1}`;
    const sentence = `${message.endsWith('.') ? message.slice(0, -1) : message}. ${fix}`.trim();
    return `  ${colors.bold(place)}${path === '' ? '' : `  ${colors.cyan(path)}`}\n    ${sentence}`;
  });
  return [`${shown} has ${count(problems.length, 'problem')}:`, '', ...blocks].join('\n');
}

/** Relative to here when that is shorter. */
export function shortPath(path: string, cwd = process.cwd()): string {
  const near = relative(cwd, path);
  return near !== '' && near.length < path.length && !near.startsWith('../..') ? near : path;
}
