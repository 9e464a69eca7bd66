/** From what the library gives or throws to an outcome. Never holds a header of ours, so no token. */
import { z } from 'zod';
import type { GithubFailure } from './outcome.js';
import { isRateAnswer, type Rates, type ResponseHeaders } from './rates.js';

export interface RefusedAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly message: string;
}

const thrown = z.object({
  status: z.int(),
  message: z.string().catch(''),
  response: z
    .object({ headers: z.record(z.string(), z.union([z.string(), z.number()]).optional()).catch({}) })
    .nullish()
    .catch(null),
});

/** The answer behind a fault; null: no answer came at all. */
export function refusedAnswerOf(fault: unknown): RefusedAnswer | null {
  const read = thrown.safeParse(fault);
  // Without a response the status is the library's own way of saying that the connection failed.
  if (!read.success || read.data.response == null) return null;
  const { status, message, response } = read.data;
  return { status, message, headers: response.headers };
}

/** What a refusal means; 404 is the caller's to judge, since it also says "not for you". */
export function failureOf(answer: RefusedAnswer, scope: string, rates: Rates): GithubFailure {
  const { status, headers, message } = answer;
  if (isRateAnswer(status, headers, message)) {
    const until = rates.limited(scope, headers);
    return {
      kind: 'limited',
      until,
      detail: `GitHub asks to wait (${status}) until ${until.toISOString()}.`,
    };
  }
  rates.observe(scope, headers);
  const said = `GitHub answered ${status}: ${short(message)}`;
  if (status === 404 || status === 410) return { kind: 'absent', detail: said };
  if (status === 409 && EMPTY.test(message)) return { kind: 'empty', detail: 'The repository is empty.' };
  if (status >= 400 && status < 500 && status !== 408) return { kind: 'denied', detail: said };
  return { kind: 'unavailable', detail: said };
}

/** GitHub's words; a 409 also refuses a change that contradicts another. */
const EMPTY = /^git repository is empty\b/i;

const MAX_MESSAGE = 200;
const short = (message: string): string => message.split('\n')[0]?.slice(0, MAX_MESSAGE) ?? '';

export const noAnswer = (fault: unknown): GithubFailure => ({
  kind: 'unavailable',
  detail: `GitHub gave no answer: ${short(causeOf(fault))}.`,
});

function causeOf(fault: unknown): string {
  if (!(fault instanceof Error)) return 'an unknown fault';
  const cause = fault.cause instanceof Error ? fault.cause.message : '';
  return cause === '' ? fault.message : cause;
}
