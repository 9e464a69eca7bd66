import { createHmac, randomUUID } from 'node:crypto';

export interface DeliveryOptions {
  /** The receiver, e.g. `http://127.0.0.1:8080/webhooks/example-github`. */
  readonly url: string;
  readonly event: string;
  readonly payload: unknown;
  readonly secret: string;
  /** X-GitHub-Delivery; a fresh one by default. */
  readonly guid?: string;
  /** X-GitHub-Hook-ID; 1 by default, null sends none. */
  readonly hookId?: string | null;
  readonly encoding?: 'json' | 'form';
}

export interface DeliveryResult {
  readonly guid: string;
  /** null: no answer came. */
  readonly status: number | null;
  /** The body as JSON, or as text if it is none. */
  readonly answer: unknown;
}

export interface LoggedDelivery {
  /** Of this try; the GUID is the event's. */
  readonly id: number;
  /** Whose log it stands in; null: the App's. */
  readonly hookId: string | null;
  readonly guid: string;
  readonly delivered_at: string;
  readonly redelivery: boolean;
  readonly status_code: number;
  readonly event: string;
}

/** GitHub waits this long for an answer. */
const ANSWER_TIMEOUT_MS = 10_000;

/** Sends webhooks as GitHub does: signed over the raw bytes, once, never again by itself. */
export class Deliveries {
  readonly #sent = new Map<string, DeliveryOptions & { readonly guid: string }>();
  readonly #results: DeliveryResult[] = [];
  readonly #log: LoggedDelivery[] = [];

  send(options: DeliveryOptions): Promise<DeliveryResult> {
    const delivery = { ...options, guid: options.guid ?? randomUUID() };
    this.#sent.set(sentKey(delivery.guid, hookOf(delivery)), delivery);
    return this.#post(delivery);
  }

  /** The same delivery again: the same GUID and bytes. Of several hooks with this GUID the named one's, else the first's. */
  async redeliver(guid: string, hookId?: string | null): Promise<DeliveryResult> {
    const delivery = [...this.#sent.values()].find(
      (one) => one.guid === guid && (hookId === undefined || hookOf(one) === hookId),
    );
    if (delivery === undefined) throw new Error(`Nothing was delivered as ${guid}.`);
    return this.#post(delivery);
  }

  /** Every try, in the order in which the answers came. */
  get results(): readonly DeliveryResult[] {
    return [...this.#results];
  }

  /** Every try as GitHub's own log has it, newest first. */
  get log(): readonly LoggedDelivery[] {
    return [...this.#log].reverse();
  }

  async #post(delivery: DeliveryOptions & { readonly guid: string }): Promise<DeliveryResult> {
    const json = JSON.stringify(delivery.payload);
    const isForm = delivery.encoding === 'form';
    const body = Buffer.from(isForm ? new URLSearchParams({ payload: json }).toString() : json, 'utf8');
    const hookId = hookOf(delivery);
    const headers = {
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      'user-agent': 'GitHub-Hookshot/fake',
      'x-github-event': delivery.event,
      'x-github-delivery': delivery.guid,
      ...(hookId === null ? {} : { 'x-github-hook-id': hookId }),
      'x-hub-signature-256': `sha256=${createHmac('sha256', delivery.secret).update(body).digest('hex')}`,
    };
    const result = { guid: delivery.guid, ...(await post(delivery.url, headers, body)) };
    this.#results.push(result);
    const isAgain = this.#log.some((one) => one.guid === delivery.guid && one.hookId === hookId);
    this.#log.push({
      id: this.#log.length + 1,
      hookId,
      guid: delivery.guid,
      delivered_at: new Date().toISOString(),
      redelivery: isAgain,
      status_code: result.status ?? 0,
      event: delivery.event,
    });
    return result;
  }
}

const FIRST_HOOK = '1';

const hookOf = ({ hookId }: DeliveryOptions): string | null => (hookId === undefined ? FIRST_HOOK : hookId);

/** All hooks of a repository deliver an event under one GUID. */
const sentKey = (guid: string, hookId: string | null): string => `${hookId ?? ''}/${guid}`;

async function post(
  url: string,
  headers: Record<string, string>,
  body: Buffer,
): Promise<Omit<DeliveryResult, 'guid'>> {
  try {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    return { status: response.status, answer: parsed(await response.text()) };
  } catch {
    return { status: null, answer: null };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
