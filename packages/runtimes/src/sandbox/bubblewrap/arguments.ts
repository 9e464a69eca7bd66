/** From a specification to bubblewrap's arguments. Pure, but for looking which of the system's folders exist. */
import { hostname as ourHostname } from 'node:os';
import { isInside, programFiles, type SystemFiles, systemFolderOf } from '../allow-list.js';
import { MARKER_VARIABLE, type SandboxFiles, type SandboxSpec } from '../port.js';
import { INNER_ID } from './sandbox-user.js';

/** A file or folder of the host at a place inside. */
export interface Bind {
  readonly path: string;
  readonly isWritable: boolean;
}

/** What is shown beside the system's own, parents before what lies in them. Throws for what must never be shown. */
export function bindsOf(spec: SandboxSpec): readonly Bind[] {
  const files = filesOf(spec);
  const byPath = new Map<string, Bind>();
  for (const path of [...programFiles(spec.argv), ...files.readOnly]) {
    if (systemFolderOf(path) === null) byPath.set(path, { path, isWritable: false });
  }
  for (const path of files.writable) {
    refuseShared(path);
    byPath.set(path, { path, isWritable: true });
  }
  return [...byPath.values()].sort((a, b) => a.path.length - b.path.length);
}

export const filesOf = (spec: SandboxSpec): SandboxFiles =>
  spec.files ?? { writable: [], readOnly: [spec.cwd], scratch: [] };

/** A place that others use too would be handed to the command, or show every command what lies beside it. */
function refuseShared(path: string): void {
  const folder = systemFolderOf(path);
  if (folder !== null) {
    throw new Error(`${path} lies in ${folder}, which every sandbox can read: put the data folder elsewhere`);
  }
  for (const shared of ['/tmp', '/var', '/etc', '/home', '/root', process.env['HOME'] ?? '/root']) {
    if (isInside(shared, path)) throw new Error(`${path} is shared: a sandbox may not have it to write to`);
  }
}

export interface ArgumentsInput {
  readonly spec: SandboxSpec;
  readonly system: SystemFiles;
  readonly binds: readonly Bind[];
  /** Where bubblewrap finds what is to be at the n-th bind's path. */
  readonly sources: readonly string[];
  readonly scratchBytes: number;
  /** Left to a sandbox inside, which makes its own; how many is bounded elsewhere. */
  readonly allowsUserNamespaces: boolean;
  /** File descriptors of `SETTING_FILES`, in their order. */
  readonly settingFds: readonly number[];
  /** File descriptor of the filter of system calls; null where there is none for this processor. */
  readonly filterFd: number | null;
}

/** Settings that the system's own would answer with this machine's users and names. */
export const SETTING_FILES: readonly { readonly path: string; readonly text: (home: string) => string }[] = [
  {
    path: '/etc/passwd',
    text: (home) =>
      `agent:x:${INNER_ID}:${INNER_ID}:agent:${home.replaceAll(/[:\n]/g, '_')}:/bin/sh\n` +
      'nobody:x:65534:65534:nobody:/:/bin/false\n',
  },
  { path: '/etc/group', text: () => `agent:x:${INNER_ID}:\nnogroup:x:65534:\n` },
  { path: '/etc/hosts', text: () => `127.0.0.1 localhost ${HOST_NAME}\n::1 localhost\n` },
  // There is no network: asking nobody answers at once where asking a name server would wait.
  { path: '/etc/nsswitch.conf', text: () => 'passwd: files\ngroup: files\nhosts: files\n' },
];

/** Not the machine's own name. */
const HOST_NAME = ourHostname() === 'sandbox' ? 'agent' : 'sandbox';

/** Of /dev/shm, which browsers and Python's multiprocessing use. */
const SHARED_MEMORY_BYTES = 256 * 1024 * 1024;

/**
 * `--unshare-all` has no network either: the loopback interface inside is the sandbox's own. The root and /dev are
 * made read-only at the end, or they would be memory without a limit; user namespaces are off, or a command could
 * mount such memory itself.
 */
export function bubblewrapArguments(input: ArgumentsInput): readonly string[] {
  const { spec, system, binds, sources } = input;
  const args = ['--unshare-all', '--unshare-user', '--die-with-parent', '--new-session'];
  if (!input.allowsUserNamespaces) args.push('--disable-userns');
  if (input.filterFd !== null) args.push('--seccomp', String(input.filterFd));
  args.push('--as-pid-1', '--cap-drop', 'ALL', '--hostname', HOST_NAME);
  args.push('--uid', String(INNER_ID), '--gid', String(INNER_ID));
  for (const path of system.readOnly) args.push('--ro-bind', path, path);
  for (const { path, target } of system.links) args.push('--symlink', target, path);
  SETTING_FILES.forEach(({ path }, index) => {
    args.push('--ro-bind-data', String(input.settingFds[index]), path);
  });
  args.push('--proc', '/proc', '--dev', '/dev');
  args.push(
    ...scratch('/dev/shm', Math.min(SHARED_MEMORY_BYTES, input.scratchBytes)),
    '--remount-ro',
    '/dev',
  );
  args.push(...scratch('/tmp', input.scratchBytes));
  for (const path of filesOf(spec).scratch) args.push(...scratch(path, input.scratchBytes));
  binds.forEach(({ path, isWritable }, index) => {
    args.push(isWritable ? '--bind' : '--ro-bind', sources[index] ?? path, path);
  });
  args.push('--remount-ro', '/', '--chdir', spec.cwd);
  // Not as bubblewrap's own environment: LD_PRELOAD and its like would count before the sandbox stands.
  args.push('--clearenv');
  for (const [name, value] of Object.entries({ ...spec.env, [MARKER_VARIABLE]: spec.marker })) {
    args.push('--setenv', name, value);
  }
  return args;
}

const scratch = (path: string, bytes: number): readonly string[] => [
  '--perms',
  '1777',
  '--size',
  String(bytes),
  '--tmpfs',
  path,
];
