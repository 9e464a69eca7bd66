/** Posts one delivery, once or many times at once, and reads what the instance says. */

import { HeadgateUnreachable, type Problem, type SignalAnswer } from '@headgate/sdk';
import type { SampleDelivery } from '@headgate/sources';

export type Answer =
  | { readonly kind: 'answer'; readonly httpStatus: number; readonly answer: SignalAnswer }
  | { readonly kind: 'problem'; readonly httpStatus: number; readonly problem: Partial<Problem> };

export const isSigned = (it: Answer): it is Extract<Answer, { kind: 'answer' }> => it.kind === 'answer';

const ANSWER_WITHIN_MS = 30_000;

/** All at once: that is what a test of duplicates needs. Throws HeadgateUnreachable when nothing answers. */
export function deliver(url: string, delivery: SampleDelivery, count: number): Promise<readonly Answer[]> {
  return Promise.all(Array.from({ length: count }, () => post(url, delivery)));
}

async function post(url: string, { method, path, headers, body }: SampleDelivery): Promise<Answer> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${url}${path}`, {
      method,
      headers,
      body: new Uint8Array(body),
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    text = await response.text();
  } catch (fault) {
    throw new HeadgateUnreachable(`no answer from ${url}`, { cause: fault });
  }
  const parsed = parse(text);
  return response.ok && isAnswer(parsed)
    ? { kind: 'answer', httpStatus: response.status, answer: parsed }
    : { kind: 'problem', httpStatus: response.status, problem: isObject(parsed) ? parsed : { detail: text } };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const isAnswer = (value: unknown): value is SignalAnswer =>
  isObject(value) && 'receiptId' in value && 'outcome' in value && 'reasonCode' in value;
