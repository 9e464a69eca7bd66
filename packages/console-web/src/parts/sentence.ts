/** A sentence of the API, taken apart: its instants are shown by the reader's clocks, its ids lead to their pages. Pure. */

export type SentencePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'instant'; readonly at: string }
  | { readonly kind: 'id'; readonly id: string; readonly page: string };

/** Whole words only: an id in a branch's name or in a key is a part of that name. */
const KNOWN =
  /(?<![\w/:-])(?:(?<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)|(?<id>(?<kind>run|sch|goal|task|rcpt)_[0-9a-z]{26}))(?![\w/])/g;

export function partsOfSentence(sentence: string): readonly SentencePart[] {
  const parts: SentencePart[] = [];
  let from = 0;
  for (const found of sentence.matchAll(KNOWN)) {
    const { at, id, kind } = found.groups ?? {};
    if (found.index > from) parts.push({ kind: 'text', text: sentence.slice(from, found.index) });
    if (at !== undefined) parts.push({ kind: 'instant', at });
    if (id !== undefined) parts.push({ kind: 'id', id, page: pageOfId(kind ?? '', id) });
    from = found.index + found[0].length;
  }
  if (from < sentence.length) parts.push({ kind: 'text', text: sentence.slice(from) });
  return parts;
}

function pageOfId(kind: string, id: string): string {
  switch (kind) {
    case 'run':
      return `/runs/${id}`;
    case 'sch':
      return `/schedules/${id}`;
    case 'goal':
      return `/goals/${id}`;
    default:
      return `/why?ref=${id}`;
  }
}
