/** HTML whose values are always escaped: what came from outside (titles, reasons, keys) can only ever be text. */

export class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | null | undefined | false | Html | readonly Html[];

/** `html\`<td>${run.workKey}</td>\``. Attributes need their quotes: `title="${text}"`. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  let text = strings[0] ?? '';
  values.forEach((value, at) => {
    text += rendered(value) + (strings[at + 1] ?? '');
  });
  return new Html(text);
}

function rendered(value: Value): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map((one) => one.text).join('');
  return escaped(String(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (c) => ENTITIES[c] ?? c);
