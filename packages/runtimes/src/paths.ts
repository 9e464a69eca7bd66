/**
 * Where an attempt lives on the machine, and where its artifacts go (Q9).
 *
 *   {workspacesDir}/{run_…}/{attempt}/
 *     agent/   all that a sandbox has to show its command
 *       workspace/  the repository's files, without .git; the working directory
 *       input/      read-only: run.json, prompt.md, context/
 *       output/     result.json, if the agent writes one
 *       home/ tmp/  private
 *     worker/  the worker's alone: owner.json, the git directory that collects the result
 *   {artifactsDir}/{run_…}/{attempt}/{name}
 */
import { dirname, join } from 'node:path';
import { formatId, type RunId } from '@headgate/domain';
import type { SandboxFiles } from './sandbox/port.js';

export interface AttemptFolders {
  readonly root: string;
  readonly agent: string;
  readonly workspace: string;
  readonly input: string;
  readonly output: string;
  readonly home: string;
  readonly tmp: string;
  readonly worker: string;
  readonly ownerFile: string;
  /** The clean git directory of `collectChanges` and `sealBundle`. */
  readonly resultGitDir: string;
}

export function attemptFolders(input: {
  readonly workspacesDir: string;
  readonly runId: RunId;
  readonly attempt: number;
}): AttemptFolders {
  return foldersIn(join(input.workspacesDir, formatId('run', input.runId), String(input.attempt)));
}

export function foldersIn(root: string): AttemptFolders {
  const agent = join(root, 'agent');
  const worker = join(root, 'worker');
  return {
    root,
    agent,
    workspace: join(agent, 'workspace'),
    input: join(agent, 'input'),
    output: join(agent, 'output'),
    home: join(agent, 'home'),
    tmp: join(agent, 'tmp'),
    worker,
    ownerFile: join(worker, 'owner.json'),
    resultGitDir: join(worker, 'result.git'),
  };
}

/**
 * What a sandbox shows of the attempt whose workspace this is: the folders above, and nothing of the worker's. Home and
 * temporary files are each command's own: what one leaves there, another could trust. null: it is no workspace.
 */
export function filesOfAttempt(workspace: string): SandboxFiles | null {
  const folders = foldersIn(dirname(dirname(workspace)));
  if (folders.workspace !== workspace) return null;
  return {
    writable: [folders.workspace, folders.output],
    readOnly: [folders.input],
    scratch: [folders.home, folders.tmp],
  };
}

/** `{run_…}/{attempt}/{name}` below the artifacts folder: the same on every worker, for every attempt its own. */
export function artifactPath(input: {
  readonly artifactsDir: string;
  readonly runId: RunId;
  readonly attempt: number;
  readonly name: string;
}): string {
  if (!/^[\w][\w.-]*$/.test(input.name))
    throw new TypeError(`not an artifact's name: ${JSON.stringify(input.name)}`);
  return join(input.artifactsDir, formatId('run', input.runId), String(input.attempt), input.name);
}
