/** What is different between two policies, a line for each value. */
import type { PolicyChange } from '@headgate/config';
import type { Colors } from '../terminal/terminal.js';

const MAX_VALUE = 200;

export function changeLines(changes: readonly PolicyChange[], colors: Colors): string {
  return changes
    .flatMap(({ path, before, after }) => {
      const lines = [colors.bold(path)];
      if (before !== undefined) lines.push(colors.red(`  - ${shown(before)}`));
      if (after !== undefined) lines.push(colors.green(`  + ${shown(after)}`));
      return lines;
    })
    .join('\n');
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}
