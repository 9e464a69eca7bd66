/**
 * The parsed YAML against the schema. What is wrong in one route must not hide what is wrong in another, so
 * entries with problems are taken out and the rest is handed on: references into the entries taken out are
 * known (`broken`) and not complained about a second time.
 */
import type { YamlFile } from '../file/index.js';
import { expandPresets } from '../presets/expand.js';
import type { Problem } from '../problems/index.js';
import { explainIssues } from './explain-issues.js';
import { type HeadgateFile, headgateFile } from './headgate-file.js';

export interface CheckedFile {
  readonly problems: readonly Problem[];
  /** What is sound; null when not even the rest of the file is. */
  readonly sound: HeadgateFile | null;
  /** Entries taken out, as `routes.tidy`. */
  readonly broken: ReadonlySet<string>;
}

const MAPS_OF_ENTRIES = new Set(['tenants', 'sources', 'agents', 'routes']);

export function checkFile(file: YamlFile): CheckedFile {
  if (file.data === null || file.data === undefined) {
    const empty = {
      path: '',
      line: 1,
      column: 1,
      message: 'the file is empty',
      fix: 'Begin it with version: 1.',
    };
    return { problems: [empty], sound: null, broken: new Set() };
  }
  const { data, problems: unknown, broken: unexpanded } = expandPresets(file);
  const first = headgateFile.safeParse(data, { reportInput: true });
  if (first.success && unknown.length === 0) return { problems: [], sound: first.data, broken: new Set() };
  const issues = first.success ? [] : first.error.issues;
  const problems = [...unknown, ...explainIssues(issues, file)];
  const paths = [...issues.map((issue) => issue.path), ...unexpanded.map((id) => ['routes', id])];
  const { rest, broken } = without(data, paths);
  const second = headgateFile.safeParse(rest);
  return { problems, sound: second.success ? second.data : null, broken };
}

/** A copy without the entries (or whole sections) that the paths lead into. */
function without(
  data: unknown,
  paths: readonly (readonly PropertyKey[])[],
): { readonly rest: unknown; readonly broken: ReadonlySet<string> } {
  const broken = new Set<string>();
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return { rest: data, broken };
  const rest: Record<string, unknown> = { ...data };
  const known = Object.keys(headgateFile.shape);
  for (const key of Object.keys(rest)) if (!known.includes(key)) delete rest[key];
  for (const [section, entry] of paths) {
    if (typeof section !== 'string') continue;
    if (section === 'version') rest[section] = 1;
    const entries = rest[section];
    if (
      MAPS_OF_ENTRIES.has(section) &&
      typeof entry === 'string' &&
      typeof entries === 'object' &&
      entries !== null
    ) {
      const kept: Record<string, unknown> = { ...entries };
      delete kept[entry];
      rest[section] = kept;
      broken.add(`${section}.${entry}`);
    } else if (section !== 'version') {
      delete rest[section];
      broken.add(section);
    }
  }
  if (!('version' in rest)) rest['version'] = 1;
  return { rest, broken };
}
