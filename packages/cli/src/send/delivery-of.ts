/** From what was asked for to the bytes that are sent: each family of triggers has its source, its id, its proof. */
import { randomUUID } from 'node:crypto';
import {
  type AskedSample,
  cloudEventDelivery,
  messageDelivery,
  type SampleDelivery,
  type SampleSubject,
  sampleDelivery,
} from '@headgate/sources';
import { EXAMPLE_EVENT_SOURCE, EXAMPLE_MESSAGE_SOURCE, EXAMPLE_SOURCE } from '../example.js';
import { CommandEnd, EXIT } from '../exit.js';
import type { FoundInstance } from '../instance/find.js';

export interface DeliveryWishes {
  readonly subject: SampleSubject;
  readonly instance: FoundInstance;
  readonly delivery?: string;
  readonly source?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface MadeDelivery {
  readonly deliveryId: string;
  readonly delivery: SampleDelivery;
}

export function deliveryOf(sample: AskedSample, wishes: DeliveryWishes): MadeDelivery {
  const { subject, instance, data } = wishes;
  switch (sample.family) {
    case 'github': {
      if (data !== undefined) {
        throw new CommandEnd(
          EXIT.usage,
          '--data is for cloudevents.… and webhook.… samples.',
          'A payload of GitHub is as it is: --print shows it, and curl sends what you made of it.',
        );
      }
      const deliveryId = wishes.delivery ?? randomUUID();
      const sourceId = wishes.source ?? EXAMPLE_SOURCE;
      const secret = instance.settings.exampleWebhookSecret;
      const delivery = sampleDelivery({ sample: sample.sample, subject, sourceId, secret, deliveryId });
      return { deliveryId, delivery };
    }
    case 'cloudevents': {
      const deliveryId = wishes.delivery ?? `event-${randomUUID()}`;
      const { type, mode } = sample;
      const eventSource = wishes.source ?? EXAMPLE_EVENT_SOURCE;
      const sender = { eventSource, token: instance.token };
      return {
        deliveryId,
        delivery: cloudEventDelivery({ type, mode, subject, deliveryId, data: data ?? {}, ...sender }),
      };
    }
    case 'webhook': {
      const deliveryId = wishes.delivery ?? `msg_${randomUUID()}`;
      const sender = {
        sourceId: wishes.source ?? EXAMPLE_MESSAGE_SOURCE,
        secret: instance.settings.exampleSigningSecret,
      };
      const { type } = sample;
      const delivery = messageDelivery({ type, subject, deliveryId, data: data ?? {}, ...sender });
      if (delivery !== null) return { deliveryId, delivery };
      throw new CommandEnd(
        EXIT.usage,
        'HEADGATE_EXAMPLE_SIGNING_SECRET is no secret of Standard Webhooks.',
        'Write whsec_ and base64.',
      );
    }
  }
}
