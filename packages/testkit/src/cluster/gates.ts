import { existsSync, rmSync, writeFileSync } from 'node:fs';
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

  /** Whether the run's agent has begun, in that attempt. */
  hasBegun(runId: string, attempt: number): boolean {
    return existsSync(join(this.folder, `agent-${formatId('run', runId as RunId)}-${attempt}`));
  }

  async agentBegins(runId: string, attempt = 1, deadlineMs = 20_000): Promise<void> {
    await eventually(() => this.hasBegun(runId, attempt), {
      what: `the agent of ${runId} begins attempt ${attempt}`,
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
