/** Single signed deliveries, each other work: as a forge sends them, one by one. */
import { createHmac } from 'node:crypto';
import { TEST_SECRET } from '../../world/policy.js';
import { failedCheck } from './load.js';

export interface Sender {
  /** Sends the next one; returns its delivery id once it was accepted. Throws when it was not. */
  send(): Promise<string>;
}

/** Of all senders together: the same number is the same work. */
let nextNumber = 1_000_000_000;

/** @param name of this sender's delivery ids, and of nobody else's. */
export function senderTo(url: string, name: string): Sender {
  const parts = failedCheck();
  let next = 0;
  return {
    send: async () => {
      const deliveryId = `${name}-${next}`;
      const body = parts.join(String(nextNumber));
      next += 1;
      nextNumber += 1;
      const signature = createHmac('sha256', TEST_SECRET).update(body).digest('hex');
      const response = await fetch(`${url}/webhooks/forge`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-github-event': 'check_run',
          'x-github-delivery': deliveryId,
          'x-hub-signature-256': `sha256=${signature}`,
        },
        body,
      });
      if (response.status !== 202) throw new Error(`intake answered ${response.status}`);
      await response.arrayBuffer();
      return deliveryId;
    },
  };
}
