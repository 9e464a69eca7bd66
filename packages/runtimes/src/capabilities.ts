/** What a worker may advertise (Q20): only what was seen to work here. */

import { statfs } from 'node:fs/promises';
import { arch, availableParallelism, platform, totalmem } from 'node:os';
import type { Capabilities } from '@headgate/domain';
import { runGit } from '@headgate/git';
import { type ChosenSandbox, chooseSandbox } from './sandbox/choose.js';

export interface ProbedWorker {
  readonly capabilities: Capabilities;
  readonly sandbox: ChosenSandbox;
}

/**
 * `isolation`, `agentRuns` (may it run users' agents), `networkList` (may they be given one), `isolationRemedy` (the command that would let it, if they may not), `limits` (that hold for them), `exampleAgent`, `node`, `git`, `os`, `arch`, `cpus`,
 * `memoryGb`, `workspaceGb`. A capability that could not be found is left out: required means refused.
 */
export async function probeCapabilities(input: {
  /** Where workspaces will lie; must exist. */
  readonly workspacesDir: string;
  readonly sandbox?: ChosenSandbox;
}): Promise<ProbedWorker> {
  const sandbox = input.sandbox ?? (await chooseSandbox());
  const git = await gitVersion();
  const disk = await statfs(input.workspacesDir).catch(() => null);
  return {
    sandbox,
    capabilities: {
      isolation: sandbox.provider.isolation,
      agentRuns: sandbox.provider.mayRunUntrusted,
      networkList: sandbox.provider.hasNetworkList,
      ...(sandbox.provider.remedy === undefined ? {} : { isolationRemedy: sandbox.provider.remedy }),
      limits: sandbox.limits,
      exampleAgent: true,
      node: process.versions.node,
      os: platform(),
      arch: arch(),
      cpus: availableParallelism(),
      memoryGb: Math.floor(totalmem() / 1024 ** 3),
      ...(git === null ? {} : { git }),
      ...(disk === null ? {} : { workspaceGb: Math.floor((disk.bavail * disk.bsize) / 1024 ** 3) }),
    },
  };
}

async function gitVersion(): Promise<string | null> {
  const result = await runGit({ args: ['--version'] });
  if (result.kind !== 'exited' || result.code !== 0) return null;
  return /\d+\.\d+\.\d+/.exec(result.stdout.toString('utf8'))?.[0] ?? null;
}
