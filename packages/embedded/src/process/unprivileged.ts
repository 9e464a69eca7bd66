import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Another user to run a program as. */
export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

/** The numbers that nearly every system gives to nobody. */
const USUAL_NOBODY: RunAs = { uid: 65_534, gid: 65_534 };

/**
 * Postgres refuses to run as root. As root: the existing user `nobody` (no user is created); else null, which
 * means ourselves.
 */
export function unprivilegedUser(): RunAs | null {
  if (process.getuid?.() !== 0) return null;
  try {
    const line = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((entry) => entry.startsWith('nobody:'));
    const [, , uid, gid] = line?.split(':') ?? [];
    return uid && gid && Number(uid) > 0 ? { uid: Number(uid), gid: Number(gid) } : USUAL_NOBODY;
  } catch {
    return USUAL_NOBODY;
  }
}

/**
 * Runs `program --version` as that user: the only probe that also sees access lists, a folder mounted noexec,
 * and libraries that are missing. Returns what it printed, or why it did not.
 */
export function probeVersion(
  program: string,
  runAs: RunAs | null,
): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly why: string } {
  const result = spawnSync(program, ['--version'], {
    cwd: '/',
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
    ...(runAs ?? {}),
  });
  if (result.error) return { ok: false, why: result.error.message };
  if (result.status !== 0) return { ok: false, why: result.stderr.trim() || `exit code ${result.status}` };
  return { ok: true, text: result.stdout.trim() };
}
