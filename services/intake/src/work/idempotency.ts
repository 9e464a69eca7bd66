/**
 * `Idempotency-Key`: the same key and body get the same status and body, and make nothing new (INV-IN3).
 *
 *   begin ─► (new) ─► decide ─► complete      a failure before the decision drops the key
 *         └► (replay | reused | in flight) ─► answered from the row
 *
 * The row is written before and after the admission, not with it. A crash between them leaves a decided receipt and a
 * key in flight; after a minute a repeat takes the key over, and finds that receipt by its event id, which is made of
 * key and body: it is given that answer, and no second signal is admitted.
 */
import { createHash } from 'node:crypto';
import type { SignalAnswer } from '@headgate/domain';
import { HttpProblem, problemOf, type ServiceContext } from '@headgate/service';
import { deliveries, type IdempotencyStart, idempotencyKeys, receipts } from '@headgate/store';
import { acknowledged } from '../http/acknowledge.js';
import type { WorkAnswer } from './work-answer.js';

export interface IdempotentRequest {
  /** 0: the token belongs to every tenant. */
  readonly tenantId: number;
  readonly key: string;
  readonly requestHash: Buffer;
  readonly eventId: string;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/** Null: the caller sent no key. */
export function idempotentRequest(
  header: string | undefined,
  tenantId: number | null,
  body: unknown,
): IdempotentRequest | null {
  if (header === undefined) return null;
  if (!KEY.test(header)) {
    throw new HttpProblem({
      status: 400,
      code: 'BAD_REQUEST',
      title: 'The Idempotency-Key cannot be used.',
      detail: 'Send 1 to 255 visible ASCII characters, e.g. a UUID.',
    });
  }
  const requestHash = createHash('sha256').update(canonical(body)).digest();
  const identity = createHash('sha256')
    .update(`${tenantId ?? 0}\u0000${header}\u0000`)
    .update(requestHash);
  return { tenantId: tenantId ?? 0, key: header, requestHash, eventId: `key:${identity.digest('hex')}` };
}

/** The same JSON in any spelling: members in order of their names. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

export type Begun =
  | { readonly kind: 'new' }
  | { readonly kind: 'answered'; readonly answer: WorkAnswer }
  /** A try that died had been decided: this is what it led to. */
  | { readonly kind: 'decided'; readonly answer: SignalAnswer };

export class Idempotency {
  readonly #context: ServiceContext;

  constructor(context: ServiceContext) {
    this.#context = context;
  }

  async begin(request: IdempotentRequest): Promise<Begun> {
    const { database, logger } = this.#context;
    const { tenantId, key, requestHash, eventId } = request;
    const started = await acknowledged(
      logger,
      database.service.use((c) => idempotencyKeys.begin(c, tenantId, key, requestHash)),
    );
    if (started.kind !== 'new') return { kind: 'answered', answer: replayed(started) };
    const decided = await acknowledged(
      logger,
      database.service.use(async (c) => {
        const first = await deliveries.first(c, [{ sourceId: 'api', eventId }]);
        const [delivery] = first.values();
        return delivery === undefined ? null : receipts.answer(c, delivery.receiptId);
      }),
    );
    return decided === null ? { kind: 'new' } : { kind: 'decided', answer: decided };
  }

  /** Best effort: the decision stands, and a repeat finds it by its event id. */
  async complete({ tenantId, key }: IdempotentRequest, { status, body }: WorkAnswer): Promise<void> {
    const { database, logger } = this.#context;
    try {
      await database.service.use((c) => idempotencyKeys.complete(c, tenantId, key, status, body));
    } catch (fault) {
      logger.warn({ err: fault }, 'the answer of an idempotent request could not be kept');
    }
  }

  /** Best effort: an abandoned key is free again after a minute. */
  async drop({ tenantId, key }: IdempotentRequest): Promise<void> {
    const { database, logger } = this.#context;
    try {
      await database.service.use((c) => idempotencyKeys.drop(c, tenantId, key));
    } catch (fault) {
      logger.warn({ err: fault }, 'the key of a failed request could not be freed');
    }
  }
}

function replayed(started: Exclude<IdempotencyStart, { kind: 'new' }>): WorkAnswer {
  switch (started.kind) {
    case 'replay':
      return { status: started.httpStatus, body: started.body, isReplay: true, retryAfterSeconds: null };
    case 'reused':
      throw new HttpProblem(
        problemOf(
          'IDEMPOTENCY_KEY_REUSED',
          422,
          'Use a new key for a new request, or repeat the first one as it was.',
        ),
      );
    case 'in-flight':
      throw new HttpProblem({
        ...problemOf('IDEMPOTENCY_IN_FLIGHT', 409, 'Ask again in a moment for its answer.'),
        retryAfterSeconds: 1,
      });
  }
}
