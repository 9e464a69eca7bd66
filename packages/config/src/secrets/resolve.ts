/**
 * From a reference to the secret, at the moment it is needed. Nothing is kept: a variable and a small file
 * cost microseconds to read, and a kept value would have to prove that it is still the current one.
 */
import { isAbsolute, resolve } from 'node:path';
import { readTextFile } from '../file/index.js';
import { parseReference } from './reference.js';

export type SecretResult =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly message: string; readonly fix: string };

export interface SecretContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths in `file:` start here: the folder of the configuration file. */
  readonly baseDir: string;
}

const MAX_SECRET_BYTES = 65_536;

/** Reads `${NAME}`, `${NAME:-default}` or `file:PATH` (one trailing line break is cut off). */
export async function resolveSecret(text: string, { env, baseDir }: SecretContext): Promise<SecretResult> {
  const reference = parseReference(text);
  if (reference === null) {
    return { ok: false, message: 'not a reference to a secret', fix: `Write "\${NAME}" or "file:PATH".` };
  }
  if (reference.kind === 'environment') {
    const value = env[reference.name];
    if (value !== undefined && value !== '') return { ok: true, value };
    return reference.fallback === null
      ? { ok: false, message: `the variable ${reference.name} is not set`, fix: `Set ${reference.name}.` }
      : { ok: true, value: reference.fallback };
  }
  const path = isAbsolute(reference.path) ? reference.path : resolve(baseDir, reference.path);
  const read = await readTextFile(path, MAX_SECRET_BYTES);
  if (!read.ok) return read;
  const value = read.text.replace(/\r?\n$/, '');
  return value === ''
    ? { ok: false, message: `the file ${path} is empty`, fix: 'Write the secret into it.' }
    : { ok: true, value };
}
