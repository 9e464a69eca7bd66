/** Single signed deliveries, each other work: as a forge sends them, one by one. */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { TEST_SECRET } from '../../world/policy.js';
import { failedCheck } from './load.js';

export interface Sender {
  /** Makes and signs the next one: what is measured after that is its way, not how it was made. */
  next(): Delivery;
}

export interface Delivery {
  /** Settles once it was accepted. Throws when it was not. */
  send(): Promise<void>;
}

/** Of all senders together: the same number is the same work. */
let nextNumber = 1_000_000_000;

/** A forge keeps its connections too. */
const agent = new Agent({ keepAlive: true });

/** @param name of this sender's delivery ids, and of nobody else's. */
export function senderTo(url: string, name: string): Sender {
  const parts = failedCheck();
  let count = 0;
  return {
    next: () => {
      const id = `${name}-${count}`;
      const body = Buffer.from(parts.join(String(nextNumber)));
      count += 1;
      nextNumber += 1;
      const headers = {
        'content-type': 'application/json',
        'content-length': body.length,
        'x-github-event': 'check_run',
        'x-github-delivery': id,
        'x-hub-signature-256': `sha256=${createHmac('sha256', TEST_SECRET).update(body).digest('hex')}`,
      };
      return { send: () => post(`${url}/webhooks/forge`, headers, body) };
    },
  };
}

async function post(url: string, headers: OutgoingHttpHeaders, body: Buffer): Promise<void> {
  const asked = request(url, { method: 'POST', agent, headers }).end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  if (response.statusCode !== 202) throw new Error(`intake answered ${response.statusCode}`);
  await once(response.resume(), 'end');
}
