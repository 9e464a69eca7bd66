/** Long lines on a terminal go on under their own beginning. What is piped stays as it is: a line is a fact to grep. */
import { stripVTControlCharacters } from 'node:util';
import type { Terminal } from './terminal.js';

/** Less room than this for the text itself is no room. */
const NARROWEST = 20;

/**
 * @param line one line; colours count for nothing
 * @param hanging stands before each further line
 * @returns lines of at most `columns` characters, but for words that are longer: ids are there to be copied whole
 */
export function wrapped(
  line: string,
  { isLive, columns }: Pick<Terminal, 'isLive' | 'columns'>,
  hanging = '',
): readonly string[] {
  if (!isLive || widthOf(line) <= columns || columns - widthOf(hanging) < NARROWEST) return [line];
  const lines: string[] = [];
  let current = '';
  let hasWord = false;
  for (const part of line.split(/(?<= )(?! )/)) {
    if (hasWord && widthOf(`${current}${part}`.trimEnd()) > columns) {
      lines.push(current.trimEnd());
      [current, hasWord] = [hanging, false];
    }
    current += part;
    hasWord ||= part.trim() !== '';
  }
  return [...lines, current.trimEnd()];
}

const widthOf = (text: string): number => stripVTControlCharacters(text).length;
