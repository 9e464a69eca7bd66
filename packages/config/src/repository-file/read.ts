/** Text of a `.headgate.yaml` -> what it means, or the first thing that is wrong with it. Never throws. */
import { NO_REPOSITORY_RULES, type RepositoryFile, type RepositoryRules } from '@headgate/domain';
import type { z } from 'zod';
import { readYaml } from '../file/index.js';
import { formatProblems, type Problem, sortProblems } from '../problems/index.js';
import { explainIssues } from '../schema/explain-issues.js';
import { repositoryFileSchema, type repositoryRules } from './schema.js';

export type RepositoryFileReading =
  | { readonly ok: true; readonly file: RepositoryFile }
  /** `detail` is one sentence, with the place in the file. */
  | { readonly ok: false; readonly detail: string; readonly problems: readonly Problem[] };

export const REPOSITORY_FILE_NAME = '.headgate.yaml';
/** It is read for every repository and kept in the database. */
export const MAX_REPOSITORY_FILE_BYTES = 65_536;

export function readRepositoryFile(text: string): RepositoryFileReading {
  if (Buffer.byteLength(text, 'utf8') > MAX_REPOSITORY_FILE_BYTES) {
    return broken([placeless('the file has more than 64 KiB', 'Shorten it.')]);
  }
  const yaml = readYaml(text);
  if (!yaml.ok) return broken(yaml.problems);
  if (yaml.file.data === null || yaml.file.data === undefined) {
    return broken([placeless('the file is empty', 'Begin it with version: 1, or remove it.')]);
  }
  const read = repositoryFileSchema.safeParse(yaml.file.data, { reportInput: true });
  if (!read.success) return broken(explainIssues(read.error.issues, yaml.file));
  const { routes = {}, version: _version, ...all } = read.data;
  return {
    ok: true,
    file: {
      all: rulesOf(all),
      routes: Object.fromEntries(Object.entries(routes).map(([id, rules]) => [id, rulesOf(rules)])),
    },
  };
}

function rulesOf(written: z.output<typeof repositoryRules>): RepositoryRules {
  const { limits = {}, ...rest } = written;
  return {
    enabled: rest.enabled ?? NO_REPOSITORY_RULES.enabled,
    mode: rest.mode ?? null,
    limits: withoutUndefined({
      wallClockMs: limits.wallClock,
      sandboxStartMs: limits.sandboxStart,
      silenceMs: limits.silence,
      verifyMs: limits.verify,
      finalizeMs: limits.finalize,
      outputBytes: limits.output,
      changedFiles: limits.changedFiles,
      diffLines: limits.diffLines,
      costUsd: limits.costUsd,
    }),
    maxAttempts: rest.maxAttempts ?? null,
    maxOpenPullRequests: rest.maxOpenPullRequests ?? null,
    protectedPaths: rest.protectedPaths ?? [],
    setup: rest.setup ?? [],
    verify: rest.verify ?? [],
    prompt: rest.prompt ?? null,
  };
}

const withoutUndefined = (limits: Readonly<Record<string, number | undefined>>): RepositoryRules['limits'] =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));

function broken(found: readonly Problem[]): RepositoryFileReading {
  const problems = sortProblems(found);
  const [first] = problems;
  const detail = first === undefined ? 'It is not valid.' : formatProblems([first], REPOSITORY_FILE_NAME);
  return { ok: false, detail, problems };
}

const placeless = (message: string, fix: string): Problem => ({
  path: '',
  line: null,
  column: null,
  message,
  fix,
});
