import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatId, type RunId } from '@headgate/domain';
import { eventually } from '../services/eventually.js';

/** Files by which a test holds agents and verifications of its cluster, and lets them go on. */
export class Gates {
  constructor(readonly folder: string) {}

  /** Lets the agent of one run go on, or all of them, those to come too. */
  openAgents(runId?: string): void {
    writeFileSync(join(this.folder, runId === undefined ? 'agents' : formatId('run', runId as RunId)), '');
  }

  /** Agents that begin from now on wait. */
  closeAgents(): void {
    rmSync(join(this.folder, 'agents'), { force: true });
  }

  openVerifications(): void {
    writeFileSync(join(this.folder, 'verifications'), '');
  }

  /** The attempts of a run whose agents have begun, in order. */
  begun(runId: string): readonly number[] {
    const prefix = `agent-${formatId('run', runId as RunId)}-`;
    return readdirSync(this.folder)
      .filter((name) => name.startsWith(prefix))
      .map((name) => Number(name.slice(prefix.length)))
      .sort((a, b) => a - b);
  }

  /** Waits for an attempt later than `after` and gives its number: on a busy machine it need not be the first. */
  agentBegins(runId: string, deadlineMs = 20_000, after = 0): Promise<number> {
    return eventually(() => this.begun(runId).find((attempt) => attempt > after), {
      what: `the agent of ${runId} begins`,
      deadlineMs,
    });
  }

  async verificationBegins(deadlineMs = 20_000): Promise<void> {
    await eventually(() => existsSync(join(this.folder, 'verifying')), {
      what: 'a verification begins',
      deadlineMs,
    });
  }
}
