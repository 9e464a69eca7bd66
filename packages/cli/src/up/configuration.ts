/** From headgate.yaml to the active policy, and again at each change of the file. */
import {
  type ConfigWatcher,
  formatProblems,
  loadConfig,
  type Problem,
  type Settings,
  watchConfig,
} from '@headgate/config';
import type { Policy } from '@headgate/domain';
import type { ServiceContext } from '@headgate/service';
import { policies } from '@headgate/store';
import { CommandEnd, EXIT } from '../exit.js';
import { problemLines } from '../terminal/problems.js';
import type { Terminal } from '../terminal/terminal.js';

/** Who activated it, as the record shows. */
const ACTOR = 'headgate up';

/** Reads the file. Ends the command with all problems, each with its line. */
export async function readPolicy(
  settings: Settings,
  env: NodeJS.ProcessEnv,
  terminal: Terminal,
): Promise<{ readonly policy: Policy; readonly warnings: readonly Problem[] }> {
  const { configPath, dataDir } = settings;
  const result = await loadConfig({ path: configPath, env, dataDir });
  if (result.ok) return result;
  throw new CommandEnd(EXIT.usage, problemLines(result.problems, configPath, terminal));
}

export async function activate(context: ServiceContext, policy: Policy): Promise<number> {
  const { version } = await policies.activate(context.database.service, policy, ACTOR);
  await context.policy.refresh();
  return version;
}

/** Follows the file: a sound change becomes the active policy, an unsound one is told and the old one stays. */
export function followFile(options: {
  readonly context: ServiceContext;
  readonly env: NodeJS.ProcessEnv;
  readonly currentDigest: string;
  readonly onActivated: (version: number) => void;
  readonly onRefused: (problems: readonly Problem[]) => void;
}): ConfigWatcher {
  const { context, env, currentDigest, onActivated, onRefused } = options;
  const { configPath, dataDir } = context.settings;
  return watchConfig(
    configPath,
    async (result) => {
      if (!result.ok) {
        context.logger.info(
          { problems: formatProblems(result.problems, configPath) },
          'configuration refused',
        );
        onRefused(result.problems);
        return;
      }
      try {
        onActivated(await activate(context, result.policy));
      } catch (fault) {
        context.logger.error(
          { err: fault },
          'the new configuration could not be activated; save the file again',
        );
      }
    },
    { env, dataDir, currentDigest },
  );
}
