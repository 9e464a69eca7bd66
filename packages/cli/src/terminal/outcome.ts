import type { Outcome } from '@headgate/domain';
import type { Colors } from './terminal.js';

const SHAPES: Readonly<Record<Outcome, string>> = { accept: '✓', defer: '…', reject: '✕', 'no-work': '–' };

/** The colour of an outcome; null, of a step that is no decision, is plain. */
export function outcomeColor(outcome: Outcome | null, colors: Colors): (text: string) => string {
  switch (outcome) {
    case 'accept':
      return colors.green;
    case 'defer':
    case 'reject':
      return colors.yellow;
    case 'no-work':
      return colors.dim;
    case null:
      return (text) => text;
  }
}

/** `✓ accept`. */
export const outcomeWord = (outcome: Outcome, colors: Colors): string =>
  outcomeColor(outcome, colors)(`${SHAPES[outcome]} ${outcome}`);
