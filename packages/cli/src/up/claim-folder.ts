/**
 * One `up` per data folder.
 *
 * The pid file `up` is the lock: of several that start at once one wins, and the others wait until it answers or
 * ends. A winner that was killed leaves a file that names a dead process: the next takes it over, then ends what
 * else the folder's pid files still name.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { claimName, EmbeddedError, endLeftovers, type PidClaim } from '@headgate/embedded';
import type { Logger } from '@headgate/telemetry';
import { CommandEnd, EXIT } from '../exit.js';
import type { Instance } from '../instance/files.js';
import { runningInstance } from '../instance/running.js';

export type FolderClaim =
  | { readonly kind: 'ours'; readonly claim: PidClaim; readonly ended: readonly string[] }
  | { readonly kind: 'running'; readonly instance: Instance };

/** Another `up` may be in the middle of its first start, which fetches and builds things. */
const WAIT_FOR_OTHER_MS = 180_000;
const LOOK_AGAIN_MS = 200;

export async function claimFolder(options: {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly onWait: () => void;
}): Promise<FolderClaim> {
  const giveUpAtMs = performance.now() + WAIT_FOR_OTHER_MS;
  for (let told = false; ; ) {
    const instance = await runningInstance(options.dataDir);
    if (instance !== null) return { kind: 'running', instance };
    try {
      const claim = await claimName(options.dataDir, 'up', options.logger);
      const leftovers = await endLeftovers(options.dataDir, { logger: options.logger });
      const ended = leftovers.filter(({ outcome }) => outcome === 'ended').map(({ name }) => name);
      return { kind: 'ours', claim, ended };
    } catch (fault) {
      if (!(fault instanceof EmbeddedError) || fault.code !== 'IN_USE') throw fault;
      if (performance.now() >= giveUpAtMs) throw new CommandEnd(EXIT.negative, fault.message);
    }
    if (!told) options.onWait();
    told = true;
    await delay(LOOK_AGAIN_MS, undefined, { signal: options.signal });
  }
}
