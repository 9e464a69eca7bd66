/** zod's issues as problems with a place in the file. Our own sentences pass; zod's are put into words. */
import type { z } from 'zod';
import type { YamlFile } from '../file/index.js';
import { type Complaint, formatPath, type Path, type Problem } from '../problems/index.js';
import { decode } from './complaint.js';

type Issue = z.core.$ZodIssue;

export function explainIssues(issues: readonly Issue[], file: YamlFile): readonly Problem[] {
  return issues.flatMap((issue) => explainIssue(issue, [], file));
}

function explainIssue(issue: Issue, above: Path, file: YamlFile): readonly Problem[] {
  const path = [...above, ...plainPath(issue.path)];
  const told = decode(issue.message);
  if (told !== null) {
    return told.map(({ key, message, fix }) => ({
      path: formatPath(key === undefined ? path : [...path, key]),
      ...(key === undefined ? file.locate(path) : file.locateKey(path, key)),
      message,
      fix,
    }));
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    return branchMeant(issue.errors).flatMap((inner) => explainIssue(inner, path, file));
  }
  if ((issue.code === 'invalid_key' || issue.code === 'invalid_element') && issue.issues.length > 0) {
    return issue.issues.flatMap((inner) => explainIssue(inner, path, file));
  }
  return [{ path: formatPath(path), ...file.locate(path), ...inWords(issue) }];
}

const plainPath = (path: readonly PropertyKey[]): Path =>
  path.map((step) => (typeof step === 'symbol' ? String(step) : step));

/** Of a union's branches the one whose type fits what was written; else the one with the fewest issues. */
function branchMeant(branches: readonly (readonly Issue[])[]): readonly Issue[] {
  const isWrongType = (issue: Issue): boolean => issue.code === 'invalid_type' && issue.path.length === 0;
  const fitting = branches.filter((issues) => !issues.some(isWrongType));
  const ranked = (fitting.length > 0 ? fitting : branches).toSorted((a, b) => a.length - b.length);
  if (fitting.length > 0 || branches.length < 2) return ranked[0] ?? [];
  const [first] = ranked[0] ?? [];
  const expected = branches.flatMap((issues) =>
    issues.map((issue) => (issue.code === 'invalid_type' ? TYPE_WORDS[issue.expected] : undefined)),
  );
  const wanted = [...new Set(expected.filter((word) => word !== undefined))].join(' or ');
  if (first === undefined || decode(first.message) !== null) return ranked[0] ?? [];
  return [{ ...first, message: wanted } as Issue];
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys',
  record: 'a map of keys',
};

function inWords(issue: Issue): Complaint {
  if (issue.code === 'invalid_type') {
    const { input } = issue;
    const wanted = isWanted(issue.message) ? issue.message : (TYPE_WORDS[issue.expected] ?? issue.expected);
    if (input === undefined) return { message: 'is missing', fix: `Write ${wanted}.` };
    if (input === null) return { message: 'is empty', fix: `Write ${wanted}, or remove the line.` };
    return { message: `is ${described(input)}`, fix: `Write ${wanted}.` };
  }
  if (issue.code === 'invalid_value') {
    const words = issue.values.map(String);
    if (issue.input === undefined)
      return { message: 'is missing', fix: `Write one of: ${words.join(', ')}.` };
    if (issue.input === null) return { message: 'is empty', fix: `Write one of: ${words.join(', ')}.` };
    return { message: `is ${described(issue.input)}`, fix: `Write one of: ${words.join(', ')}.` };
  }
  if (issue.code === 'invalid_union')
    return { message: 'is missing or of no known kind', fix: 'See the documentation.' };
  if (issue.code === 'too_big') return { message: `is longer than ${issue.maximum}`, fix: 'Shorten it.' };
  if (issue.code === 'too_small') return { message: `is shorter than ${issue.minimum}`, fix: 'Lengthen it.' };
  return { message: issue.message, fix: 'Correct it.' };
}

const isWanted = (message: string): boolean =>
  Object.values(TYPE_WORDS).some((word) => message.startsWith(word));

function described(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map of keys';
  if (typeof value === 'string') return `the text "${value.length > 60 ? `${value.slice(0, 60)}…` : value}"`;
  return typeof value === 'number' ? `the number ${value}` : String(value);
}
