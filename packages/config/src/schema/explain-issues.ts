/** zod's issues as problems with a place in the file. Our own sentences pass; zod's are put into words. */
import type { z } from 'zod';
import type { YamlFile } from '../file/index.js';
import { type Complaint, formatPath, type Path, type Problem } from '../problems/index.js';
import { decode } from './complaint.js';

type Issue = z.core.$ZodIssue;

/** One problem per place: after the first, zod's further checks of one value say the same in other words. */
export function explainIssues(issues: readonly Issue[], file: YamlFile): readonly Problem[] {
  const byPath = new Map<string, Problem>();
  for (const problem of issues.flatMap((issue) => explainIssue(issue, [], file))) {
    if (!byPath.has(problem.path)) byPath.set(problem.path, problem);
  }
  return [...byPath.values()];
}

function explainIssue(issue: Issue, above: Path, file: YamlFile): readonly Problem[] {
  const path = [...above, ...plainPath(issue.path)];
  const at = (complaint: Complaint): Problem => ({
    path: formatPath(path),
    ...file.locate(path),
    ...complaint,
  });
  const told = decode(issue.message);
  if (told !== null) {
    return told.map(({ key, message, fix }) =>
      key === undefined
        ? at({ message, fix })
        : { path: formatPath([...path, key]), ...file.locateKey(path, key), message, fix },
    );
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const meant = branchMeant(issue.errors);
    return meant === null
      ? [at(wrongType(issue.input, issue.errors.flatMap(expectedTypes)))]
      : meant.flatMap((inner) => explainIssue(inner, path, file));
  }
  if ((issue.code === 'invalid_key' || issue.code === 'invalid_element') && issue.issues.length > 0) {
    return issue.issues.flatMap((inner) => explainIssue(inner, path, file));
  }
  return [at(inWords(issue))];
}

const plainPath = (path: readonly PropertyKey[]): Path =>
  path.map((step) => (typeof step === 'symbol' ? String(step) : step));

const isWrongType = (issue: Issue): boolean => issue.code === 'invalid_type' && issue.path.length === 0;

/**
 * Of a union's branches the one whose type and keys fit what was written, and of several the one with the fewest
 * issues. When no type fits: the branch that has a sentence of its own about it; else null.
 */
function branchMeant(branches: readonly (readonly Issue[])[]): readonly Issue[] | null {
  const fitting = branches.filter((issues) => !issues.some(isWrongType));
  const [fewest] = fitting.toSorted(
    (a, b) => Number(isForeign(a)) - Number(isForeign(b)) || a.length - b.length,
  );
  const later = fewest?.filter(({ message }) => decode(message)?.some(({ isLater }) => isLater === true));
  if (later !== undefined && later.length > 0) return later;
  return fewest ?? branches.find((issues) => issues.some(({ message }) => decode(message) !== null)) ?? null;
}

/** Another map was meant: this one lacks a key of its own, and does not know what is there. */
const isForeign = (issues: readonly Issue[]): boolean =>
  issues.some((issue) => issue.code === 'unrecognized_keys' && issue.path.length === 0) &&
  issues.some(
    (issue) => issue.code === 'invalid_type' && issue.path.length === 1 && issue.input === undefined,
  );

const expectedTypes = (issues: readonly Issue[]): readonly string[] =>
  issues.flatMap((issue) => (issue.code === 'invalid_type' ? [issue.expected] : []));

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys',
  record: 'a map of keys',
};

function wrongType(input: unknown, expected: readonly string[]): Complaint {
  const wanted = [...new Set(expected.map((type) => TYPE_WORDS[type] ?? type))].join(' or ');
  if (typeof input === 'string' && wanted === 'a list') {
    return {
      message: `is ${described(input)}`,
      fix: `Write a list: [ ${JSON.stringify(input.slice(0, 60))} ].`,
    };
  }
  return missingOr(input, wanted === '' ? 'a value' : wanted);
}

function missingOr(input: unknown, wanted: string): Complaint {
  if (input === undefined) return { message: 'is missing', fix: `Write ${wanted}.` };
  if (input === null) return { message: 'is empty', fix: `Write ${wanted}, or remove the line.` };
  return { message: `is ${described(input)}`, fix: `Write ${wanted}.` };
}

function inWords(issue: Issue): Complaint {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue.input, [issue.expected]);
    case 'invalid_value':
      return missingOr(issue.input, `one of: ${issue.values.map(String).join(', ')}`);
    case 'too_big':
      return { message: `is more than ${issue.maximum}`, fix: 'Shorten it.' };
    case 'too_small':
      return { message: `is less than ${issue.minimum}`, fix: 'Lengthen it.' };
    default:
      return { message: issue.message, fix: 'Correct it.' };
  }
}

function described(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map of keys';
  if (typeof value === 'string') return `the text "${value.length > 60 ? `${value.slice(0, 60)}…` : value}"`;
  return typeof value === 'number' ? `the number ${value}` : String(value);
}
