import { at, type Item, textAt } from '../../github/fields.js';
import type { Told } from './event-source.js';

/** The label that a labelling is about, as the labelled thing has it; null: it is not there, or still is. */
export function labelOf(labelled: Item, { action, payload }: Told): Item | null {
  if (action !== 'labeled' && action !== 'unlabeled') return {};
  const name = textAt(payload, 'label', 'name');
  const labels = at(labelled, 'labels');
  const found = (Array.isArray(labels) ? labels : []).find((label) => textAt(label, 'name') === name);
  if (action === 'labeled') return found === undefined ? null : { label: found };
  return found === undefined ? { label: { name } } : null;
}
