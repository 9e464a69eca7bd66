import { formatProblems, type LoadOptions, loadConfig } from '@headgate/config';

/** Loads a text and gives its problems as a person would read them; throws when there are none. */
export async function problemsOf(text: string, options: Partial<LoadOptions> = {}): Promise<string> {
  const result = await loadConfig({ env: {}, ...options, text });
  if (result.ok) throw new Error('the text was accepted');
  return formatProblems(result.problems, 'headgate.yaml');
}

/** Loads a text that must be accepted. */
export async function policyOf(text: string, options: Partial<LoadOptions> = {}) {
  const result = await loadConfig({ env: {}, ...options, text });
  if (!result.ok) throw new Error(formatProblems(result.problems, 'headgate.yaml'));
  return result.policy;
}

/** A sound file, to which a test adds the one thing it is about. */
export const SOUND = `version: 1
sources:
  local: { kind: git, repositories: { notes: { url: local:notes.git } } }
agents:
  tool: { runtime: command, command: [tool] }
`;

/** The same with one route, `tidy`; `lines` are its further keys. */
export const withRoute = (...lines: readonly string[]): string =>
  `${SOUND}routes:\n  tidy:\n    on: [manual]\n${lines.map((line) => `    ${line}\n`).join('')}`;

/** The same with other triggers. */
export const withTriggers = (list: string): string => withRoute().replace('[manual]', list);
