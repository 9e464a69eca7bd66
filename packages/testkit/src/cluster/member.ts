/**
 * One service of a cluster as a process of its own: built code, the real entry, its own environment. It may be
 * killed, frozen and started again; a new start is a new process under the same name.
 */
import { type Exit, type SpawnedService, spawnService } from '../services/spawn-service.js';

export const SERVICE_NAMES = ['intake', 'scheduler', 'worker', 'reconciler', 'console'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

export interface MemberSetup {
  /** `worker-2`: names the process in the history. */
  readonly name: string;
  /** What runs in it: one service as deployed, or several in one process. */
  readonly services: readonly ServiceName[];
  readonly env: Readonly<Record<string, string>>;
  /** `point=action;…`, for this process only. */
  readonly failPoints?: string;
  /** Handed to `create<Service>`; with any, the process starts by the harness' own entry. */
  readonly options?: Readonly<Record<string, unknown>>;
}

/** Starts services with options, or several of them together; otherwise a service's own main.js runs. */
const HARNESS_ENTRY = 'test/harness/service.mjs';
const READY_WITHIN_MS = 180_000;
const READY = /"url":"(http:[^"]+)"[^\n]*"msg":"[^"]*is ready"/;

export class Member {
  readonly name: string;
  readonly services: readonly ServiceName[];
  #setup: MemberSetup;
  #process: SpawnedService | null = null;
  #url: string | null = null;
  readonly #logs: string[] = [];

  constructor(setup: MemberSetup) {
    this.#setup = setup;
    this.name = setup.name;
    this.services = setup.services;
  }

  get process(): SpawnedService {
    if (this.#process === null) throw new Error(`${this.name} was never started`);
    return this.#process;
  }

  get isRunning(): boolean {
    return this.#process !== null && !this.#process.hasExited();
  }

  /** Of its HTTP edge. */
  get url(): string {
    if (this.#url === null) throw new Error(`${this.name} has not been ready`);
    return this.#url;
  }

  /** Everything that it and its predecessors have written. */
  log(): string {
    return [...this.#logs, this.#process?.stderr() ?? ''].join('');
  }

  /** Begins; `ready` waits. With `failPoints` null none are armed any more. */
  async start(change: { readonly failPoints?: string | null } = {}): Promise<void> {
    if (this.isRunning) throw new Error(`${this.name} runs already`);
    if (this.#process !== null) this.#logs.push(this.#process.stderr());
    if (change.failPoints !== undefined) {
      const { failPoints: _, ...rest } = this.#setup;
      this.#setup = change.failPoints === null ? rest : { ...rest, failPoints: change.failPoints };
    }
    const { name, services, env, failPoints, options } = this.#setup;
    const [only] = services;
    const isOwnEntry = services.length === 1 && options === undefined && only !== undefined;
    this.#url = null;
    this.#process = await spawnService({
      entry: isOwnEntry ? `services/${only}/dist/main.js` : HARNESS_ENTRY,
      args: isOwnEntry ? [] : services,
      env: {
        ...env,
        HEADGATE_PROC: name,
        ...(failPoints === undefined ? {} : { HEADGATE_FAILPOINTS: failPoints }),
        ...(options === undefined ? {} : { HEADGATE_TEST_OPTIONS: JSON.stringify(options) }),
      },
    });
  }

  async ready(): Promise<void> {
    const [, url] = await this.process.waitForOutput(READY, READY_WITHIN_MS);
    this.#url = url ?? null;
  }

  kill9(): Promise<Exit> {
    return this.process.sigkill();
  }
  terminate(): Promise<Exit> {
    return this.process.terminate();
  }
  freeze(): void {
    this.process.sigstop();
  }
  thaw(): void {
    this.process.sigcont();
  }

  /** Kills what still runs, starts again and waits until it is ready. */
  async restart(change: { readonly failPoints?: string | null } = {}): Promise<void> {
    if (this.isRunning) await this.kill9();
    await this.start(change);
    await this.ready();
  }
}
