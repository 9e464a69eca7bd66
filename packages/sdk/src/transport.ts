/** One request, its answer or its problem. */
import { HeadgateUnreachable, problemOf } from './problem.js';

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

export interface TransportOptions {
  /** Where Headgate listens: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Null in a page of Headgate’s own console: the browser’s cookie signs the requests. */
  readonly token: string | null;
  /** Default: the platform's. */
  readonly fetch?: Fetch;
}

export interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query?: object;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class Transport {
  readonly #base: string;
  readonly #token: string | null;
  readonly #fetch: Fetch;

  constructor(options: TransportOptions) {
    this.#base = options.url.replace(/\/+$/, '');
    this.#token = options.token;
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
  }

  /** The answer of a 2xx. Throws HeadgateProblem, or HeadgateUnreachable when no answer came. */
  async send(call: Call): Promise<Response> {
    const response = await this.#ask(call);
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  async json<Answer>(call: Call): Promise<Answer> {
    return (await (await this.send(call)).json()) as Answer;
  }

  async #ask({ method, path, query, body, headers, signal }: Call): Promise<Response> {
    const url = `${this.#base}${path}${queryString(query ?? {})}`;
    try {
      return await this.#fetch(url, {
        method,
        redirect: 'error',
        headers: {
          accept: 'application/json',
          ...(this.#token === null ? {} : { authorization: `Bearer ${this.#token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (fault) {
      if (signal?.aborted === true) throw fault;
      throw new HeadgateUnreachable(`no answer from ${this.#base}`, { cause: fault });
    }
  }
}

function queryString(query: object): string {
  const given = Object.entries(query as Record<string, unknown>).filter(([, value]) => value !== undefined);
  if (given.length === 0) return '';
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`;
}
