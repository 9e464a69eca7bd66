/**
 * Text -> plain data, with a way back from any path in the data to its line and column.
 *
 * The file may be hostile (anybody's pull request to a configuration repository is checked with it), and
 * the YAML library recurses and compares keys pairwise: 200 000 opening brackets ended the process, not an
 * exception, and 100 000 keys took minutes. So size, depth and length are bounded on the lexer's tokens,
 * which costs one linear pass, before anything is composed; duplicate keys are found here.
 */
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { Path, Problem } from '../problems/index.js';
import { explainYamlError } from './yaml-errors.js';
import { checkShape } from './yaml-shape.js';

interface Place {
  readonly line: number;
  readonly column: number;
}

export interface YamlFile {
  readonly data: unknown;
  /** The place of the value at `path`, or of the nearest parent that exists. */
  locate(path: Path): Place;
  /** The place of the key itself. */
  locateKey(path: Path, key: string): Place;
}

export type YamlResult =
  | { readonly ok: true; readonly file: YamlFile }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Nodes that aliases may stand for in all, before the file counts as an attack. */
const MAX_ALIAS_COUNT = 100;

export function readYaml(text: string): YamlResult {
  const shape = checkShape(text);
  if (shape.length > 0) return { ok: false, problems: shape };

  const lines = new LineCounter();
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    strict: true,
    uniqueKeys: false,
    version: '1.2',
  });
  const problems = [...document.errors, ...document.warnings].map((error): Problem => {
    return { path: '', ...place(error.pos[0]), ...explainYamlError(error.code, error.message) };
  });
  if (document.directives?.yaml.explicit === true) {
    problems.push({
      path: '',
      line: 1,
      column: 1,
      message: 'a %YAML line changes how words such as "on" are read',
      fix: 'Remove it: the file is YAML 1.2.',
    });
  }
  if (problems.length === 0) problems.push(...checkKeys(document, place));
  if (problems.length > 0) return { ok: false, problems: firstPerPlace(problems) };

  try {
    const data: unknown = document.toJS({ maxAliasCount: MAX_ALIAS_COUNT });
    return { ok: true, file: located(document, data, place) };
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    return { ok: false, problems: [explainAliasError(error)] };
  }
}

/** One mistake often makes the parser stumble several times at one spot. */
function firstPerPlace(problems: readonly Problem[]): readonly Problem[] {
  const seen = new Set<string>();
  return problems.filter(({ line, column }) => {
    const key = `${line}:${column}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function explainAliasError(error: ReferenceError): Problem {
  const unresolved = /anchor must be set before the alias\): (.*)$/.exec(error.message);
  const where = { path: '', line: null, column: null };
  return unresolved
    ? {
        ...where,
        message: `the alias *${unresolved[1]} names no anchor above it`,
        fix: 'Write the value out.',
      }
    : {
        ...where,
        message: `aliases stand for more than ${MAX_ALIAS_COUNT} values`,
        fix: 'Write the values out: a file that grows when it is read is refused.',
      };
}

/** Keys must be plain words, each once; no value may hold NUL (`"\\0"`), which Postgres cannot store. A Set per map: the library's own check is quadratic. */
function checkKeys(document: Document, place: (offset: number) => Place): readonly Problem[] {
  const problems: Problem[] = [];
  const walk = (node: unknown): void => {
    if (isSeq(node)) {
      for (const item of node.items) walk(item);
      return;
    }
    if (isScalar(node) && typeof node.value === 'string' && node.value.includes('\u0000')) {
      problems.push({
        path: '',
        ...place(node.range?.[0] ?? 0),
        message: 'the text holds a NUL character',
        fix: 'Remove it.',
      });
    }
    if (!isMap(node)) return;
    const first = new Map<string, number>();
    for (const { key, value } of node.items) {
      const start = isNode(key) ? (key.range?.[0] ?? 0) : 0;
      if (!isScalar(key)) {
        problems.push({
          path: '',
          ...place(start),
          message: 'a key is a list or a map',
          fix: 'Write a word as the key.',
        });
      } else {
        const name = String(key.value);
        const earlier = first.get(name);
        if (earlier === undefined) first.set(name, start);
        else {
          problems.push({
            path: '',
            ...place(start),
            message: `"${name}" is written twice (first on line ${place(earlier).line})`,
            fix: 'Keep one of the two.',
          });
        }
      }
      walk(value);
    }
  };
  walk(document.contents);
  return problems;
}

function located(document: Document, data: unknown, place: (offset: number) => Place): YamlFile {
  const startOf = (node: unknown): number | null =>
    isNode(node) ? ((node as Node).range?.[0] ?? null) : null;
  const nodeAt = (path: Path): unknown =>
    path.length === 0 ? document.contents : document.getIn(path, true);
  const keyStart = (path: Path, key: string): number | null => {
    const parent = nodeAt(path);
    if (!isMap(parent)) return null;
    const pair = parent.items.find((item) => isScalar(item.key) && String(item.key.value) === key);
    return pair === undefined ? null : startOf(pair.key);
  };
  const locate = (path: Path): Place => {
    for (let length = path.length; length > 0; length--) {
      const step = path[length - 1];
      const parent = path.slice(0, length - 1);
      // A value on its own line below its key is looked for at the key.
      const start =
        typeof step === 'string' ? keyStart(parent, step) : startOf(nodeAt(path.slice(0, length)));
      if (start !== null) return place(start);
    }
    return { line: 1, column: 1 };
  };
  return {
    data,
    locate,
    locateKey: (path, key) => {
      const start = keyStart(path, key);
      return start === null ? locate(path) : place(start);
    },
  };
}
