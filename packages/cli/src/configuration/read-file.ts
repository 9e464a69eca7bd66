/** headgate.yaml as a policy, or every problem of it. */
import { resolve } from 'node:path';
import type { Policy } from '@headgate/domain';
import type { CommandContext } from '../commands/command.js';
import { CommandEnd, EXIT } from '../exit.js';
import { settingsOf } from '../instance/find.js';
import { problemLines } from '../terminal/problems.js';

export interface FilePolicy {
  readonly path: string;
  readonly policy: Policy;
}

/** @param file default: HEADGATE_CONFIG, else headgate.yaml. Ends the command when it cannot count. */
export async function filePolicy(file: string | undefined, context: CommandContext): Promise<FilePolicy> {
  const { env, cwd, terminal } = context;
  const settings = settingsOf(context);
  const path = file === undefined ? settings.configPath : resolve(cwd, file);
  const { loadConfig } = await import('@headgate/config');
  const result = await loadConfig({ path, env, dataDir: settings.dataDir });
  if (result.ok) return { path, policy: result.policy };
  throw new CommandEnd(EXIT.usage, problemLines(result.problems, path, terminal));
}
