/**
 * The programs between the worker and bubblewrap. Each replaces the one before it (exec), so that all of them are one
 * process, the worker's child:
 *
 *   root:           unshare ► sh (joins control groups, binds, gives away) ► setpriv ► tied to the worker ► bwrap
 *   ordinary user:  sh (joins control groups) ► tied to the worker ► bwrap
 *
 * Where the command may make user namespaces, their number is bounded by one more around bubblewrap's own: the bound
 * can be written only from inside it, by who may do anything there, and counts for all below (`boundNamespaces`).
 *
 * bubblewrap always runs as an ordinary user. As root it would map the command to root, whom /proc/sys lets write
 * even without capabilities. But that user cannot go through folders that only root may enter, such as the data
 * folder. So root first binds what is to be shown to a place that anybody can reach, in a mount namespace of its own
 * that ends with the process; nothing is mounted on the host at any time.
 *
 * Changing the user drops the tie to the worker's life, therefore it is tied after that; a worker that died in the
 * meantime is noticed there (`tiedToUs`).
 */
import { existsSync } from 'node:fs';
import { isInside } from '../allow-list.js';
import { findProgram, tiedToUs } from '../launch.js';

const JOIN = 'while [ "$1" != -- ]; do echo $$ > "$1"; shift; done; shift';

const STAGE = [
  JOIN,
  'stage=$1 owner=$2; shift 2',
  // What a command of the attempt before left is already its own.
  'while [ "$1" != -- ]; do chown -Rh "$owner:$owner" -- "$1"; shift; done; shift',
  'mount -t tmpfs -o mode=755,nosuid,nodev,size=1m headgate "$stage"',
  'n=0',
  'while [ "$1" != -- ]; do',
  '  if [ -d "$1" ]; then mkdir "$stage/$n"; else : > "$stage/$n"; fi',
  '  mount --bind -- "$1" "$stage/$n"; n=$((n + 1)); shift',
  'done; shift',
  'exec "$@"',
].join('\n');

const BOUND = 'echo "$1" > /proc/sys/user/max_user_namespaces; shift; exec "$@"';

/** Any folder that exists will do: what it holds is hidden from bubblewrap, and from nobody else. */
const STAGES = ['/mnt', '/media', '/srv', '/opt'];

export interface LaunchChain {
  readonly argv: readonly string[];
  /** Where bubblewrap finds the n-th path. */
  readonly sources: readonly string[];
}

export interface LaunchInput {
  /** To be shown. */
  readonly paths: readonly string[];
  /** Those among them that become the command's own. */
  readonly ownPaths: readonly string[];
  /** Of the control groups to be in. */
  readonly joinFiles: readonly string[];
  /** null: ours. */
  readonly userId: number | null;
  /** How many user namespaces there may be, bubblewrap's own included. null: no bound of ours. */
  readonly userNamespaces: number | null;
}

/** `bubblewrap` is given where its sources are, and gives its argv. */
export function launchChain(
  input: LaunchInput,
  bubblewrap: (sources: readonly string[]) => readonly string[],
): LaunchChain {
  const { paths, joinFiles, userId } = input;
  const bounded = (argv: readonly string[]): readonly string[] =>
    input.userNamespaces === null ? argv : boundNamespaces(input.userNamespaces, argv);
  if (userId === null) {
    const argv = bounded(tiedToUs(bubblewrap(paths)));
    if (joinFiles.length === 0) return { argv, sources: paths };
    const join = ['/bin/sh', '-ec', `${JOIN}\nexec "$@"`, 'headgate', ...joinFiles, '--', ...argv];
    return { argv: join, sources: paths };
  }
  const stage = STAGES.find((place) => existsSync(place) && !paths.some((path) => isInside(path, place)));
  if (stage === undefined) throw new Error(`there is none of ${STAGES.join(', ')} to bind folders at`);
  const sources = paths.map((_, index) => `${stage}/${index}`);
  const id = String(userId);
  const argv = [
    findProgram('unshare') ?? 'unshare',
    '--mount',
    '--propagation',
    'private',
    '--',
    '/bin/sh',
    '-ec',
    STAGE,
    'headgate',
    ...joinFiles,
    '--',
    stage,
    id,
    ...input.ownPaths,
    '--',
    ...paths,
    '--',
    findProgram('setpriv') ?? 'setpriv',
    '--reuid',
    id,
    '--regid',
    id,
    '--clear-groups',
    '--inh-caps=-all',
    '--',
    ...bounded(tiedToUs(bubblewrap(sources))),
  ];
  return { argv, sources };
}

/** bubblewrap refuses to start with capabilities, so those that the new namespace gave are put down again. */
function boundNamespaces(count: number, argv: readonly string[]): readonly string[] {
  const setpriv = findProgram('setpriv') ?? 'setpriv';
  return [
    ...[findProgram('unshare') ?? 'unshare', '--user', '--map-current-user', '--keep-caps', '--'],
    ...['/bin/sh', '-ec', BOUND, 'headgate', String(count)],
    ...[setpriv, '--inh-caps=-all', '--ambient-caps=-all', '--', ...argv],
  ];
}
