/** Real GitHub payloads, from the collection that octokit keeps; named `EVENT[.ACTION][#n]`. */
import { createRequire } from 'node:module';
import { distance } from 'fastest-levenshtein';
import { z } from 'zod';

export interface Sample {
  /** In full, e.g. `check_run.completed#0`. */
  readonly name: string;
  readonly event: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export type SampleSearch =
  | { readonly kind: 'sample'; readonly sample: Sample }
  | { readonly kind: 'unknown'; readonly detail: string; readonly nearest: readonly string[] };

const definitions = z.array(
  z.object({ name: z.string(), examples: z.array(z.record(z.string(), z.unknown())) }),
);

// The package's entry is JSON, which `import` takes only with an attribute and all at once.
const require = createRequire(import.meta.url);

let loaded: readonly z.infer<typeof definitions>[number][] | null = null;

/** 1.5 MB of JSON, read when first asked for. */
function collection() {
  loaded ??= definitions.parse(require('@octokit/webhooks-examples'));
  return loaded;
}

/** Every sample there is, each under its full name. */
export function allSamples(): readonly Sample[] {
  return collection().flatMap(({ name: event, examples }) => {
    const seen = new Map<string, number>();
    return examples.map((payload) => {
      const stem = typeof payload['action'] === 'string' ? `${event}.${payload['action']}` : event;
      const number = seen.get(stem) ?? 0;
      seen.set(stem, number + 1);
      return { name: `${stem}#${number}`, event, payload };
    });
  });
}

/** What can be asked for, without numbers: `check_run`, `check_run.completed`, … */
export function sampleNames(): readonly string[] {
  const names = allSamples().flatMap(({ event, name }) => [event, name.slice(0, name.lastIndexOf('#'))]);
  return [...new Set(names)].sort();
}

const SPEC = /^([^#]*?)(?:#(\d{1,4}))?$/;

/** `check_run.completed#0` is the first completed one, `check_run#3` the fourth of all, no number means the first. */
export function findSample(spec: string): SampleSearch {
  const [, stem = '', digits = '0'] = SPEC.exec(spec.trim()) ?? [];
  const wanted = stem.replace(/^github\./, '');
  const number = Number(digits);
  const matching = allSamples().filter((it) => it.event === wanted || it.name.startsWith(`${wanted}#`));
  const sample = matching[number];
  if (sample !== undefined) return { kind: 'sample', sample };
  if (matching.length > 0) {
    const last = `${wanted}#${matching.length - 1}`;
    return { kind: 'unknown', detail: `${wanted} has the samples #0 to ${last}.`, nearest: [last] };
  }
  const nearest = nearestNames(wanted);
  const detail = `There is no sample ${JSON.stringify(spec)}. Did you mean ${nearest.join(' or ')}?`;
  return { kind: 'unknown', detail, nearest };
}

const SUGGESTIONS = 3;

const nearestNames = (wanted: string): readonly string[] =>
  sampleNames()
    .map((name) => ({ name, far: distance(wanted, name) }))
    .sort((a, b) => a.far - b.far || a.name.localeCompare(b.name))
    .slice(0, SUGGESTIONS)
    .map(({ name }) => name);
