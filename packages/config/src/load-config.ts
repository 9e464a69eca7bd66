/** headgate.yaml -> policy: read, parse, check, resolve; every problem at once, each with its place. */
import { dirname, isAbsolute, resolve } from 'node:path';
import type { Policy, SourcePolicy } from '@headgate/domain';
import { compilePrompt } from './cel/index.js';
import { EXAMPLE_SECRETS } from './environment/index.js';
import { MAX_FILE_BYTES, readTextFile, readYaml } from './file/index.js';
import { Notebook } from './policy/notebook.js';
import { resolvePolicy } from './policy/resolve-policy.js';
import { type Problem, sortProblems } from './problems/index.js';
import { checkFile } from './schema/check-file.js';
import type { HeadgateFile } from './schema/headgate-file.js';
import { resolveSecret } from './secrets/index.js';

export type Env = Readonly<Record<string, string | undefined>>;

export type ConfigText =
  | { readonly path: string }
  /** `baseDir`: where relative paths start; the working folder if it is not given. */
  | { readonly text: string; readonly baseDir?: string };

export type LoadOptions = ConfigText & {
  readonly env: Env;
  /** Where `local:` repositories stand. By default HEADGATE_DATA_DIR, else `.headgate`. */
  readonly dataDir?: string;
  /** Judge all sources as a real forge (true) or as local (false), whatever their urls say. */
  readonly realForge?: boolean;
};

export type LoadResult =
  | {
      readonly ok: true;
      readonly policy: Policy;
      readonly warnings: readonly Problem[];
      /** Every file the policy was made of, for watching. */
      readonly files: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly files: readonly string[] };

const MAX_PROMPT_BYTES = 65_536;

export async function loadConfig(options: LoadOptions): Promise<LoadResult> {
  const baseDir = 'path' in options ? dirname(resolve(options.path)) : resolve(options.baseDir ?? '.');
  const files = 'path' in options ? [resolve(options.path)] : [];
  const read =
    'path' in options
      ? await readTextFile(options.path, MAX_FILE_BYTES)
      : { ok: true as const, text: options.text };
  if (!read.ok) return { ok: false, problems: [placeless('', read)], files };

  const yaml = readYaml(read.text);
  if (!yaml.ok) return { ok: false, problems: sortProblems(yaml.problems), files };
  const checked = checkFile(yaml.file);
  if (checked.sound === null) return { ok: false, problems: sortProblems(checked.problems), files };

  const notes = new Notebook(yaml.file);
  const prompts = await readPrompts(checked.sound, baseDir, files, notes);
  const dataDir = resolve(options.dataDir ?? (options.env['HEADGATE_DATA_DIR'] || '.headgate'));
  const policy = resolvePolicy(
    {
      file: checked.sound,
      broken: checked.broken,
      prompts,
      options: { baseDir, dataDir, realForge: options.realForge ?? null },
    },
    notes,
  );
  await checkSecrets(policy.sources, { env: options.env, baseDir }, notes);
  const problems = [...checked.problems, ...notes.problems];
  return problems.length > 0
    ? { ok: false, problems: sortProblems(problems), files }
    : { ok: true, policy, warnings: sortProblems(notes.warnings), files };
}

const placeless = (path: string, { message, fix }: { message: string; fix: string }): Problem => ({
  path,
  line: null,
  column: null,
  message,
  fix,
});

/** A prompt in a file is part of the policy: its text is stored with the version, its digest with each run. */
async function readPrompts(
  file: HeadgateFile,
  baseDir: string,
  files: string[],
  notes: Notebook,
): Promise<ReadonlyMap<string, string>> {
  const prompts = new Map<string, string>();
  for (const [id, { prompt }] of Object.entries(file.routes ?? {})) {
    if (prompt === undefined || !prompt.startsWith('file:')) continue;
    const named = prompt.slice('file:'.length);
    const path = isAbsolute(named) ? named : resolve(baseDir, named);
    files.push(path);
    const read = await readTextFile(path, MAX_PROMPT_BYTES);
    const at = ['routes', id, 'prompt'];
    if (!read.ok) notes.problem(at, read.message, read.fix);
    else if (read.text.includes('\u0000')) notes.problem(at, `${path} holds a NUL character`, 'Remove it.');
    else {
      const compiled = compilePrompt(read.text);
      if (compiled.ok) prompts.set(id, read.text);
      else notes.problem(at, `${compiled.problem.message} (${path})`, compiled.problem.fix);
    }
  }
  return prompts;
}

/**
 * A secret that is not there is a warning: a file is also checked where its secrets are not known. The
 * example's secrets are public, so beside a real forge nobody may use them, under whatever name.
 */
async function checkSecrets(
  sources: readonly SourcePolicy[],
  context: { readonly env: Env; readonly baseDir: string },
  notes: Notebook,
): Promise<void> {
  const hasRealForge = sources.some(({ realForge }) => realForge);
  for (const source of sources) {
    for (const [index, reference] of source.webhookSecrets.entries()) {
      const at = ['sources', source.id, 'webhookSecrets', index];
      const secret = await resolveSecret(reference, context);
      if (!secret.ok)
        notes.warning(at, secret.message, `${secret.fix} Until then no delivery is trusted by it.`);
      else if (hasRealForge && EXAMPLE_SECRETS.has(secret.value)) {
        notes.problem(
          at,
          'the secret is the example’s, which everybody knows, and there is a real source',
          'Set a secret of your own, or remove the example source.',
        );
      }
    }
  }
}
