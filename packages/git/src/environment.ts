/**
 * The environment in which every git of ours runs. Nothing of the machine's or the user's configuration
 * counts, no hook runs, nothing asks, and only the named transports exist (`ext::` runs commands).
 */
export const ALLOWED_PROTOCOLS = ['file', 'https', 'ssh'] as const;

/** Command scope beats a repository's own configuration, so none of these can be undone by one. */
const ALWAYS: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['commit.gpgSign', 'false'],
  ['push.gpgSign', 'false'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['push.recurseSubmodules', 'no'],
  // A collection in the background would take objects away under a reader.
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // The data folder may belong to another user than the worker; the directories named are all our own.
  ['safe.directory', '*'],
  ['protocol.version', '2'],
  // One thread: packs come out the same, and a worker's cores belong to its agents.
  ['pack.threads', '1'],
];

export interface GitEnvironment {
  /** Further configuration, e.g. an `http.extraHeader` with a token: by environment, so no argument list shows it. */
  readonly config?: Readonly<Record<string, string>>;
  /** Further variables, e.g. GIT_INDEX_FILE or GIT_AUTHOR_DATE. */
  readonly env?: Readonly<Record<string, string>>;
  readonly protocols?: readonly string[];
}

/** All variables of a git process; nothing is inherited but PATH and the ssh agent's socket. */
export function gitEnvironment(options: GitEnvironment = {}): Record<string, string> {
  const config = [...ALWAYS, ...Object.entries(options.config ?? {})];
  const env: Record<string, string> = {
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    // A home folder holds an ignore list and attributes that would change results.
    HOME: '/nonexistent',
    LC_ALL: 'C',
    TZ: 'UTC',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes -o ConnectTimeout=10',
    GIT_ALLOW_PROTOCOL: (options.protocols ?? ALLOWED_PROTOCOLS).join(':'),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_CONFIG_COUNT: String(config.length),
  };
  const sshAgent = process.env['SSH_AUTH_SOCK'];
  if (sshAgent !== undefined) env['SSH_AUTH_SOCK'] = sshAgent;
  config.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  });
  return { ...env, ...options.env };
}
