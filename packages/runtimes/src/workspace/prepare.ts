/**
 * A workspace: the files of exactly one commit, without git, in a folder that belongs to one attempt.
 *
 * git runs here only before the agent does, from a mirror that no agent can reach (security 3). Crash points:
 * the owner file is written first, so a folder that was begun is swept when its worker is seen to be dead;
 * preparing the same attempt again starts from nothing.
 */
import { randomUUID } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunId } from '@headgate/domain';
import { ensureCommit, type GitOptions, gitOutput, type RemoteOptions } from '@headgate/git';
import { type AttemptFolders, attemptFolders } from '../paths.js';
import { writeOwner } from './owner.js';
import { removeTree } from './remove.js';

export interface PrepareWorkspaceInput extends RemoteOptions {
  readonly mirrorsDir: string;
  readonly workspacesDir: string;
  readonly runId: RunId;
  readonly attempt: number;
  readonly repositoryUrl: string;
  /** The commit to work on, in full. */
  readonly sha: string;
  /** `refs/heads/…` where it was seen, if known. */
  readonly ref: string | null;
}

export interface Workspace {
  readonly folders: AttemptFolders;
  /** The bare repository that holds the base commit. Read-only for everybody but `ensureCommit`. */
  readonly mirror: string;
  readonly baseSha: string;
  /** Marks the attempt's processes. */
  readonly marker: string;
}

export type PrepareWorkspaceResult =
  | { readonly kind: 'ready'; readonly workspace: Workspace }
  | { readonly kind: 'transient'; readonly code: 'GIT_CLONE_FAILED_TRANSIENT'; readonly detail: string }
  /** The remote no longer has the commit: the input is stale. */
  | { readonly kind: 'gone'; readonly detail: string }
  | { readonly kind: 'aborted' };

export async function prepareWorkspace(input: PrepareWorkspaceInput): Promise<PrepareWorkspaceResult> {
  const folders = attemptFolders(input);
  const marker = randomUUID();
  await removeTree(folders.root);
  await mkdir(folders.worker, { recursive: true, mode: 0o700 });
  await writeOwner(folders.ownerFile, marker);

  const { mirrorsDir, repositoryUrl: url, sha, ref, signal } = input;
  const ready = await ensureCommit({ ...remoteOptions(input), mirrorsDir, url, sha, ref });
  switch (ready.kind) {
    case 'aborted':
      return { kind: 'aborted' };
    case 'gone':
      return { kind: 'gone', detail: ready.detail };
    case 'transient':
      return { kind: 'transient', code: 'GIT_CLONE_FAILED_TRANSIENT', detail: ready.detail };
    case 'ready':
      break;
  }
  for (const folder of [folders.workspace, folders.input, folders.output, folders.home, folders.tmp]) {
    await mkdir(folder, { recursive: true });
    // Whatever the worker's umask: a sandbox may run its command as another user.
    await chmod(folder, 0o755);
  }
  await checkOut(ready.mirror, folders, sha, signal);
  return { kind: 'ready', workspace: { folders, mirror: ready.mirror, baseSha: sha, marker } };
}

/** Takes the attempt's folders away. May be called any number of times. */
export async function removeWorkspace(folders: AttemptFolders): Promise<void> {
  await removeTree(folders.root);
}

async function checkOut(
  mirror: string,
  folders: AttemptFolders,
  sha: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  // The index checks every path on its way in: `.git` and `..` never reach the file system.
  const options: Partial<GitOptions> = {
    gitDir: mirror,
    cwd: folders.workspace,
    env: { GIT_INDEX_FILE: join(folders.worker, 'checkout.index') },
    ...(signal === undefined ? {} : { signal }),
  };
  await gitOutput({ ...options, args: ['read-tree', sha] });
  await gitOutput({
    ...options,
    args: [`--work-tree=${folders.workspace}`, 'checkout-index', '--all', '--quiet'],
  });
}

function remoteOptions(input: RemoteOptions): RemoteOptions {
  return {
    ...(input.config === undefined ? {} : { config: input.config }),
    ...(input.protocols === undefined ? {} : { protocols: input.protocols }),
    ...(input.signal === undefined ? {} : { signal: input.signal }),
    ...(input.timeoutMs === undefined ? {} : { timeoutMs: input.timeoutMs }),
  };
}
