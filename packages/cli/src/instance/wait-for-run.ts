/** Follows a run to its end by asking again: works through every proxy, and through a restart of the instance. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, HeadgateUnreachable, type RunDetail } from '@headgate/sdk';
import { CommandEnd, EXIT } from '../exit.js';
import { duration } from '../terminal/words.js';

export interface WaitOptions {
  readonly client: Client;
  readonly runId: string;
  readonly timeoutMs: number;
  /** Called while it waits or runs: with the first answer, and whenever status, reason or attempt are others. */
  readonly onChange: (run: RunDetail) => void;
}

const FIRST_PAUSE_MS = 150;
const LONGEST_PAUSE_MS = 1_000;

/** The run once it has ended. Ends the command with "timed out" when it has not in time. */
export async function waitForRun({ client, runId, timeoutMs, onChange }: WaitOptions): Promise<RunDetail> {
  const giveUpAtMs = performance.now() + timeoutMs;
  let pauseMs = FIRST_PAUSE_MS;
  for (let seen = ''; ; ) {
    const run = await ask(client, runId, giveUpAtMs);
    if (run !== null) {
      const state = [run.status, run.reasonCode, run.attempt, run.waiting?.reasonCode].join('/');
      if (isOver(run)) return run;
      if (state !== seen) {
        onChange(run);
        pauseMs = FIRST_PAUSE_MS;
      }
      seen = state;
    }
    if (performance.now() >= giveUpAtMs) {
      throw new CommandEnd(
        EXIT.timedOut,
        `${runId} has not ended within ${duration(timeoutMs)}.`,
        `It goes on. Ask again: headgate runs show ${runId}`,
      );
    }
    await delay(Math.min(pauseMs, Math.max(0, giveUpAtMs - performance.now())));
    pauseMs = Math.min(pauseMs * 1.3, LONGEST_PAUSE_MS);
  }
}

export const isOver = ({ publicStatus }: Pick<RunDetail, 'publicStatus'>): boolean =>
  publicStatus !== 'waiting' && publicStatus !== 'running';

/** Null while it does not answer: it may be restarting. */
async function ask(client: Client, runId: string, giveUpAtMs: number): Promise<RunDetail | null> {
  try {
    return await client.runs.get(runId);
  } catch (fault) {
    if (fault instanceof HeadgateUnreachable && performance.now() < giveUpAtMs) return null;
    throw fault;
  }
}
