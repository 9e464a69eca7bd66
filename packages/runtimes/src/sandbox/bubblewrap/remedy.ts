/** Why bubblewrap does not work on a machine, and the one command that mends it. */
import { readFileSync } from 'node:fs';

/** What was found out about the machine. */
export interface MachineFacts {
  /** What bubblewrap printed; null when it is not installed. */
  readonly said: string | null;
  /** `ID` and `ID_LIKE` of /etc/os-release. */
  readonly systems: readonly string[];
  /** Of /proc/sys; null where there is no such setting. */
  readonly userNamespacesClone: number | null;
  readonly maxUserNamespaces: number | null;
  readonly apparmorRestricts: number | null;
}

export function machineFacts(said: string | null): MachineFacts {
  return {
    said,
    systems: systemsIn(read('/etc/os-release')),
    userNamespacesClone: setting('kernel/unprivileged_userns_clone'),
    maxUserNamespaces: setting('user/max_user_namespaces'),
    apparmorRestricts: setting('kernel/apparmor_restrict_unprivileged_userns'),
  };
}

/** Lets bubblewrap, and nothing else, make user namespaces (Ubuntu 23.10 and later). */
const APPARMOR_PROFILE =
  "printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }\\n' " +
  '| tee /etc/apparmor.d/bwrap && apparmor_parser -r /etc/apparmor.d/bwrap';

export function remedyFor(facts: MachineFacts): string {
  const { said, userNamespacesClone, maxUserNamespaces, apparmorRestricts } = facts;
  if (said === null) return installCommand(facts.systems);
  if (userNamespacesClone === 0) return 'sysctl -w kernel.unprivileged_userns_clone=1';
  if (maxUserNamespaces === 0) return 'sysctl -w user.max_user_namespaces=10000';
  if (apparmorRestricts === 1 && /uid map|Permission denied|RTM_NEWADDR|not permitted/.test(said)) {
    return APPARMOR_PROFILE;
  }
  if (/mount proc|not permitted|Permission denied|unshare failed/i.test(said)) {
    return (
      'start the worker’s container with: --cap-add SYS_ADMIN --security-opt seccomp=unconfined ' +
      '--security-opt apparmor=unconfined --security-opt systempaths=unconfined'
    );
  }
  // Not known: at least what bubblewrap says when it is asked for the same.
  return 'bwrap --unshare-all --ro-bind / / /bin/true';
}

export const OLD_VERSION_REMEDY =
  'install bubblewrap 0.8 or newer (Debian 12, Ubuntu 24.04 and Fedora 38 have it)';

function installCommand(systems: readonly string[]): string {
  if (systems.some((id) => ['fedora', 'rhel', 'centos', 'amzn'].includes(id)))
    return 'dnf install bubblewrap';
  if (systems.includes('arch')) return 'pacman -S bubblewrap';
  if (systems.includes('alpine')) return 'apk add bubblewrap util-linux findutils';
  if (systems.some((id) => ['suse', 'opensuse'].includes(id))) return 'zypper install bubblewrap';
  return 'apt-get install bubblewrap';
}

export function systemsIn(osRelease: string): readonly string[] {
  return [...osRelease.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].flatMap((match) =>
    (match[1] ?? '').split(' '),
  );
}

function setting(name: string): number | null {
  const text = read(`/proc/sys/${name}`).trim();
  return text === '' ? null : Number(text);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
