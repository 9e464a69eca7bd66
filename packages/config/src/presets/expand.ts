/** `use: NAME@1` in a route: its preset's keys below the route's own. */
import { stringify } from 'yaml';
import type { YamlFile } from '../file/index.js';
import { formatPath, type Problem, suggest } from '../problems/index.js';
import { PRESETS, type Preset } from './catalogue.js';

const NAMES = PRESETS.map(({ name }) => name);

export function findPreset(name: string): Preset | null {
  return PRESETS.find((preset) => preset.name === name) ?? null;
}

/** The nearest name, for somebody who asked for one that is not there. */
export const presetSuggestion = (name: string): string => suggest(name, NAMES);

/** A preset as a route of the file, in YAML. */
export const presetYaml = ({ name, route }: Preset): string =>
  stringify(
    { routes: { [name.slice(0, name.indexOf('@'))]: route } },
    { blockQuote: 'literal', lineWidth: 100 },
  );

export interface Expanded {
  readonly data: unknown;
  readonly problems: readonly Problem[];
  /** Routes whose preset is not known: what they would be, nobody can say. */
  readonly broken: readonly string[];
}

/** The parsed file with every preset written out. What has another shape is left for the schema to complain about. */
export function expandPresets(file: YamlFile): Expanded {
  const { data } = file;
  const nothing = { data, problems: [], broken: [] };
  if (!isMap(data) || !isMap(data['routes'])) return nothing;
  const routes: Record<string, unknown> = {};
  const problems: Problem[] = [];
  const broken: string[] = [];
  for (const [id, route] of Object.entries(data['routes'])) {
    if (!isMap(route) || !('use' in route)) {
      routes[id] = route;
      continue;
    }
    const { use, ...own } = route;
    const preset = typeof use === 'string' ? findPreset(use) : null;
    if (preset !== null) {
      routes[id] = { ...preset.route, ...own };
      continue;
    }
    const path = ['routes', id, 'use'];
    const message =
      typeof use === 'string' ? `there is no preset "${use}"` : 'the name of a preset is no text';
    const fix = presetSuggestion(typeof use === 'string' ? use : '');
    problems.push({ path: formatPath(path), ...file.locate(path), message, fix });
    broken.push(id);
  }
  return { data: { ...data, routes }, problems, broken };
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
