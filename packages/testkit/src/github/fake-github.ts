/**
 * GitHub, as far as Headgate speaks to it: a real HTTP server on loopback over real bare repositories, with its own
 * log and with faults on demand. A call is decided first and logged; only then does a fault change what the caller
 * hears. So a `bad-gateway` with `when: 'after'` is exactly the case that matters: it happened, and nobody was told.
 */
import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import { type Clock, systemClock } from '@headgate/domain';
import express, { type Express, type Request, type Response } from 'express';
import { notFound } from './answers.js';
import type { BareRepository } from './bare-repository.js';
import { Deliveries } from './deliveries.js';
import type { Answer, AppEndpoint, Endpoint } from './endpoint.js';
import { APP_ENDPOINTS, ENDPOINTS } from './endpoints.js';
import { type Fault, type FaultPlan, Faults } from './faults.js';
import { type ForgeRepository, ForgeState } from './forge-state.js';
import { ProviderLog } from './provider-log.js';
import { RateBook } from './rate-book.js';

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
  readonly rate = new RateBook();
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
    const repository = {
      ...options,
      ...{ pulls: [], comments: [], checkRuns: [], issues: [], workflowRuns: [], checkSuites: [] },
      ...{ issueEvents: [], reviews: [], reviewComments: [] },
      permissions: new Map(),
    };
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
    for (const endpoint of ENDPOINTS) this.#mount(app, endpoint, `/repos/:owner/:repo${endpoint.path}`);
    for (const endpoint of APP_ENDPOINTS) this.#mount(app, endpoint, endpoint.path);
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

  #mount(app: Express, endpoint: Endpoint | AppEndpoint, path: string): void {
    app[endpoint.method](path, async (request, response) => {
      const fault = this.#faults.take(request.method, request.path);
      if (fault !== null && isBefore(fault)) return this.#answer(request, response, insteadOf(fault), fault);
      this.#answer(request, response, await this.#decide(endpoint, request), fault);
    });
  }

  async #decide(endpoint: Endpoint | AppEndpoint, request: Request): Promise<Answer> {
    const params = textsOf(request.params);
    if ('handleApp' in endpoint) {
      const { state } = this;
      const [body, query] = [request.body ?? {}, textsOf(request.query)];
      const now = this.#clock.now();
      return endpoint.handleApp({
        state,
        params,
        query,
        body,
        now,
        authorization: request.headers.authorization,
        deliveries: this.deliveries,
      });
    }
    if (!this.state.isVisible(request.headers.authorization)) {
      const wasKnown = this.state.tokens.some((it) => request.headers.authorization === `token ${it.token}`);
      return wasKnown ? { status: 401, body: { message: 'Bad credentials' } } : notFound;
    }
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
    const etag = etagOf(answer);
    const isUnchanged = fault === null && etag !== null && request.headers['if-none-match'] === etag;
    if (!isUnchanged && fault === null) this.rate.spend();
    this.log.append({
      at: this.#clock.now().toISOString(),
      method: request.method,
      path: request.originalUrl,
      status: isUnchanged ? 304 : answer.status,
      told: isUnchanged ? 304 : toldStatus(fault, answer),
      effect: answer.effect?.kind ?? null,
      objectId: answer.effect?.objectId ?? null,
      body: request.body ?? null,
      isAuthorised: request.headers.authorization !== undefined,
    });
    response.set(this.rate.headers());
    switch (fault?.kind) {
      case 'hang':
        return;
      case 'reset':
        request.socket.resetAndDestroy();
        return;
      case 'used-up':
        response.set(this.rate.usedUp(fault.resetAt));
        response.status(403).json({ message: 'API rate limit exceeded for installation ID 1.' });
        return;
      case 'forbidden':
        response.status(403).json({ message: 'Resource not accessible by integration' });
        return;
      case 'bad-gateway':
        response.status(502).json({ message: 'Bad Gateway' });
        return;
      case 'too-many-requests':
        response.set('Retry-After', String(fault.retryAfterSeconds));
        response.status(429).json({ message: 'You have exceeded a secondary rate limit.' });
        return;
      case undefined:
        if (etag !== null) response.set('ETag', etag);
        if (isUnchanged) {
          response.status(304).end();
          return;
        }
        if (answer.hasNextPage) response.set('Link', `<${this.#nextPage(request, answer)}>; rel="next"`);
        response.status(answer.status).json(answer.body);
    }
  }

  #nextPage(request: Request, { nextCursor }: Answer): string {
    const url = new URL(request.originalUrl, this.#url);
    if (nextCursor !== undefined) {
      url.searchParams.set('cursor', nextCursor);
      return url.href;
    }
    url.searchParams.set('page', String(Number(url.searchParams.get('page') ?? 1) + 1));
    return url.href;
  }
}

const isBefore = (fault: Fault): boolean => !('when' in fault) || fault.when === 'before';

const REFUSALS: Readonly<Partial<Record<Fault['kind'], number>>> = {
  'too-many-requests': 429,
  'used-up': 403,
  forbidden: 403,
};

const insteadOf = (fault: Fault): Answer => ({ status: REFUSALS[fault.kind] ?? 502, body: null });

/** Weak, as GitHub's are; of what is shown. */
function etagOf({ status, body }: Answer): string | null {
  if (status !== 200) return null;
  return `W/"${createHash('sha256').update(JSON.stringify(body)).digest('hex')}"`;
}

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
