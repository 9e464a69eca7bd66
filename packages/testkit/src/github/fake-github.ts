/**
 * GitHub, as far as Headgate speaks to it: a real HTTP server on loopback over real bare repositories, with its own
 * log and with faults on demand. A call is decided first and logged; only then does a fault change what the caller
 * hears. So a `bad-gateway` with `when: 'after'` is exactly the case that matters: it happened, and nobody was told.
 */
import type { Server } from 'node:http';
import { type Clock, systemClock } from '@headgate/domain';
import express, { type Express, type Request, type Response } from 'express';
import type { BareRepository } from './bare-repository.js';
import { Deliveries } from './deliveries.js';
import type { Answer, Endpoint } from './endpoint.js';
import { ENDPOINTS } from './endpoints.js';
import { type Fault, type FaultPlan, Faults } from './faults.js';
import { type ForgeRepository, ForgeState } from './forge-state.js';
import { ProviderLog } from './provider-log.js';

export interface FakeGitHubOptions {
  /** JSON lines of the provider's log; in memory only by default. */
  readonly logFile?: string;
  readonly clock?: Clock;
  /** A free one by default. */
  readonly port?: number;
}

export class FakeGitHub {
  readonly log: ProviderLog;
  readonly deliveries = new Deliveries();
  readonly state = new ForgeState();
  readonly #faults = new Faults();
  readonly #clock: Clock;
  #server: Server | null = null;
  #url = '';

  private constructor(options: FakeGitHubOptions) {
    this.log = new ProviderLog(options.logFile ?? null);
    this.#clock = options.clock ?? systemClock;
  }

  static async start(options: FakeGitHubOptions = {}): Promise<FakeGitHub> {
    const fake = new FakeGitHub(options);
    await fake.#listen(options.port ?? 0);
    return fake;
  }

  /** The API's base, e.g. `http://127.0.0.1:40123`. */
  get url(): string {
    return this.#url;
  }

  addRepository(options: { id: number; fullName: string; git: BareRepository }): ForgeRepository {
    const repository = { ...options, pulls: [], comments: [], checkRuns: [] };
    this.state.repositories.push(repository);
    return repository;
  }

  /** Plans a fault for the next matching calls. */
  failNext(plan: Omit<FaultPlan, 'count'> & { readonly count?: number }): void {
    this.#faults.add({ count: 1, ...plan });
  }

  clearFaults(): void {
    this.#faults.clear();
  }

  /** Ends at once; calls that hang are cut. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    server.closeAllConnections();
    await new Promise<void>((settle) => server.close(() => settle()));
  }

  #listen(port: number): Promise<void> {
    const app = express();
    app.use(express.json({ limit: '5mb' }));
    for (const endpoint of ENDPOINTS) this.#mount(app, endpoint);
    app.use((request, response) => {
      this.#answer(request, response, { status: 404, body: { message: 'Not Found' } }, null);
    });
    return new Promise((settle, fail) => {
      const server = app.listen(port, '127.0.0.1', (cause?: Error) => {
        const address = server.address();
        if (cause !== undefined || address === null || typeof address === 'string') {
          fail(cause ?? new Error('The fake GitHub has no port.'));
          return;
        }
        this.#url = `http://127.0.0.1:${address.port}`;
        settle();
      });
      this.#server = server;
    });
  }

  #mount(app: Express, endpoint: Endpoint): void {
    app[endpoint.method](`/repos/:owner/:repo${endpoint.path}`, async (request, response) => {
      const fault = this.#faults.take(request.method, request.path);
      if (fault !== null && isBefore(fault)) return this.#answer(request, response, insteadOf(fault), fault);
      this.#answer(request, response, await this.#decide(endpoint, request), fault);
    });
  }

  async #decide(endpoint: Endpoint, request: Request): Promise<Answer> {
    const params = textsOf(request.params);
    const repository = this.state.find(`${params['owner']}/${params['repo']}`);
    if (repository === null) return { status: 404, body: { message: 'Not Found' } };
    return endpoint.handle({
      state: this.state,
      repository,
      params,
      query: textsOf(request.query),
      body: request.body ?? {},
      now: this.#clock.now().toISOString(),
      baseUrl: this.#url,
    });
  }

  #answer(request: Request, response: Response, answer: Answer, fault: Fault | null): void {
    this.log.append({
      at: this.#clock.now().toISOString(),
      method: request.method,
      path: request.originalUrl,
      status: answer.status,
      told: toldStatus(fault, answer),
      effect: answer.effect?.kind ?? null,
      objectId: answer.effect?.objectId ?? null,
      body: request.body ?? null,
      isAuthorised: request.headers.authorization !== undefined,
    });
    switch (fault?.kind) {
      case 'hang':
        return;
      case 'reset':
        request.socket.resetAndDestroy();
        return;
      case 'bad-gateway':
        response.status(502).json({ message: 'Bad Gateway' });
        return;
      case 'too-many-requests':
        response.set('Retry-After', String(fault.retryAfterSeconds));
        response.status(429).json({ message: 'You have exceeded a secondary rate limit.' });
        return;
      case undefined:
        if (answer.hasNextPage) response.set('Link', `<${this.#nextPage(request)}>; rel="next"`);
        response.status(answer.status).json(answer.body);
    }
  }

  #nextPage(request: Request): string {
    const url = new URL(request.originalUrl, this.#url);
    url.searchParams.set('page', String(Number(url.searchParams.get('page') ?? 1) + 1));
    return url.href;
  }
}

const isBefore = (fault: Fault): boolean => fault.kind === 'too-many-requests' || fault.when === 'before';

const insteadOf = (fault: Fault): Answer => ({
  status: fault.kind === 'too-many-requests' ? 429 : 502,
  body: null,
});

function toldStatus(fault: Fault | null, answer: Answer): number | 'nothing' | 'reset' {
  switch (fault?.kind) {
    case 'hang':
      return 'nothing';
    case 'reset':
      return 'reset';
    case 'bad-gateway':
      return 502;
    default:
      return answer.status;
  }
}

/** Path parameters and queries as plain text; a wildcard's parts are joined again. */
const textsOf = (values: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.join('/') : String(value),
    ]),
  );
