/**
 * Intake: HTTP for webhooks and manual calls, the schedule ticker, and the keeper of goals. Everything goes through one Admission; a
 * signal is answered only after the commit that holds its receipt.
 *
 * Needs Postgres to answer and nothing else: without Redis it acknowledges all the same, and started work is found by
 * polling. While it drains, new requests get 503 and those under way are answered.
 */
import { Admission } from '@headgate/admission';
import { Dispatcher } from '@headgate/dispatch';
import { policyArrives, type Service, type ServiceContext } from '@headgate/service';
import { AuthoritativeReader, type SourceReader } from '@headgate/sources';
import type { Router } from 'express';
import { GoalKeeper } from './goal/keeper.js';
import { Gate } from './http/gate.js';
import { intakeRouter } from './http/router.js';
import { Heads } from './repositories/heads.js';
import { Ticker } from './schedule/ticker.js';
import { StartWork } from './start-work.js';
import { WebhookSecrets } from './webhooks/secrets.js';

export interface IntakeOptions {
  /** Where secrets are read from; the process's environment by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Reads heads for ticks and manual calls; GitHub's API or git by default. */
  readonly reader?: SourceReader;
}

/** The head of a repository is read for at most this long while a person or a tick waits. */
const READ_MS = 5_000;
/** Whatever hangs, draining and stopping end. */
const DRAIN_MS = 10_000;

export function createIntake(context: ServiceContext, options: IntakeOptions = {}): Service {
  return new Intake(context, options);
}

class Intake implements Service {
  readonly name = 'intake';
  readonly router: Router;
  readonly #context: ServiceContext;
  readonly #admission: Admission;
  readonly #startWork: StartWork;
  readonly #ticker: Ticker;
  readonly #goals: GoalKeeper;
  readonly #gate = new Gate();

  constructor(context: ServiceContext, options: IntakeOptions) {
    const { database, dimensions, ids, logger, clock } = context;
    const policy = () => context.policy.current();
    const dispatcher = new Dispatcher({
      pool: database.service,
      bus: context.bus,
      dimensions,
      logger,
      policy,
      actor: this.name,
      onPolicyMoved: () => void context.policy.refresh().catch(() => {}),
    });
    this.#context = context;
    this.#startWork = new StartWork({ dispatcher, bus: context.bus, logger });
    this.#admission = new Admission({
      pool: database.service,
      dimensions,
      ids,
      logger,
      policy,
      onAdmitted: (runs) => this.#startWork.admitted(runs),
    });
    const reader =
      options.reader ??
      new AuthoritativeReader({
        clock,
        env: options.env ?? process.env,
        configPath: context.settings.configPath,
        timeoutMs: READ_MS,
      });
    const heads = new Heads(reader);
    const secrets = new WebhookSecrets({
      env: options.env ?? process.env,
      configPath: context.settings.configPath,
      clock,
      logger,
    });
    this.#ticker = new Ticker({ context, admission: this.#admission, heads });
    this.#goals = new GoalKeeper({ context, admission: this.#admission, heads });
    this.router = intakeRouter({ context, admission: this.#admission, heads, secrets, gate: this.#gate });
  }

  async start(): Promise<void> {
    this.#gate.open();
    this.#ticker.start();
    this.#goals.start();
  }

  ready(): Promise<void> {
    return policyArrives(this.#context);
  }

  async drain(): Promise<void> {
    this.#gate.close();
    await within(
      DRAIN_MS,
      Promise.all([this.#ticker.stop(), this.#goals.stop(), this.#gate.empty(), this.#admission.idle()]),
    );
    await within(DRAIN_MS, this.#startWork.idle());
  }

  stop(): Promise<void> {
    return this.drain();
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
