/** What a refused person is told where they asked: one sentence, where to look further, and a marker for us. */
import { formatId } from '@headgate/domain';
import type { NewFeedback } from '@headgate/store';

const MOST_CHARACTERS = 1_000;

/** Names the receipt: found again by it, and by nobody else's text. */
export const markerOf = ({ receiptId }: Pick<NewFeedback, 'receiptId'>): string =>
  `<!-- headgate-feedback: ${formatId('rcpt', receiptId)} -->`;

export function commentOf(row: Pick<NewFeedback, 'receiptId' | 'reasonCode' | 'message'>): string {
  const receipt = formatId('rcpt', row.receiptId);
  return [
    markerOf(row),
    `Headgate did not start this. ${harmless(row.message)}`,
    '',
    `\`${row.reasonCode}\` · \`headgate why ${receipt}\``,
  ].join('\n');
}

/** A message repeats foreign text: it must mention nobody, link nowhere, show no image and hold no markup. */
function harmless(text: string): string {
  return text
    .slice(0, MOST_CHARACTERS)
    .replace(/\s+/g, ' ')
    .replace(/[<>]/g, '')
    .replace(/([\\`*_{}[\]()#!|~])/g, '\\$1')
    .replace(/@/g, '@\u200b')
    .replace(/:\/\//g, ':\u200b//');
}
