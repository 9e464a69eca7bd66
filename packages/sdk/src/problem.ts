import type { Problem } from './types/index.js';

/** The API said no. `code` is stable; `detail` says what to do. */
export class HeadgateProblem extends Error {
  override readonly name = 'HeadgateProblem';
  readonly problem: Problem;
  /** From Retry-After, when the answer had one. */
  readonly retryAfterSeconds: number | null;

  constructor(problem: Problem, retryAfterSeconds: number | null = null) {
    super(`${problem.code}: ${problem.detail}`);
    this.problem = problem;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  get code(): string {
    return this.problem.code;
  }

  get status(): number {
    return this.problem.status;
  }
}

/** No answer came: nothing listens there, or the connection broke. Whether a write took effect is unknown. */
export class HeadgateUnreachable extends Error {
  override readonly name = 'HeadgateUnreachable';
}

/** The problem of an answer that is not 2xx, also when something in between (a proxy) answered in its own words. */
export async function problemOf(response: Response): Promise<HeadgateProblem> {
  const after = Number(response.headers.get('retry-after'));
  const retryAfterSeconds = response.headers.has('retry-after') && Number.isFinite(after) ? after : null;
  const text = await response.text();
  return new HeadgateProblem(parsed(text) ?? unexplained(response, text), retryAfterSeconds);
}

function parsed(text: string): Problem | null {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof body !== 'object' || body === null) return null;
  const { type, title, status, detail, code, receiptId } = body as Record<string, unknown>;
  if (typeof title !== 'string' || typeof status !== 'number') return null;
  return {
    type: typeof type === 'string' ? type : 'about:blank',
    title,
    status,
    detail: typeof detail === 'string' ? detail : title,
    code: typeof code === 'string' ? code : `HTTP_${status}`,
    receiptId: typeof receiptId === 'string' ? receiptId : null,
  };
}

const unexplained = (response: Response, text: string): Problem => ({
  type: 'about:blank',
  title: response.statusText === '' ? `HTTP ${response.status}` : response.statusText,
  status: response.status,
  detail: text.slice(0, 200),
  code: `HTTP_${response.status}`,
  receiptId: null,
});
