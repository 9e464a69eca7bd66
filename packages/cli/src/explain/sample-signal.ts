/** A sample as the configured source would read it, were it sent: about one of its repositories, at a made-up commit. */
import type { Actor, Signal, SourcePolicy } from '@headgate/domain';
import {
  type AskedSample,
  cloudEventDelivery,
  messageDelivery,
  moduleOf,
  readCloudEvent,
  type SampleDelivery,
  type SampleSubject,
  sampleDelivery,
  signalOfCloudEvent,
} from '@headgate/sources';
import { CommandEnd, EXIT } from '../exit.js';

interface Place {
  readonly source: SourcePolicy;
  /** Null: the first of the source. */
  readonly repository: string | null;
  readonly now: Date;
}

const DELIVERY_ID = '00000000-0000-4000-8000-000000000000';
const HEAD_SHA = '5ca1ab1e0123456789abcdef0123456789abcdef';
/** Signed and thrown away: a source reads what it has verified, and this is not verified. */
const UNSENT_SECRET = 'whsec_dW5zZW50';
const NO_DATA = {};
/** Where a source of any sender names none: events come with a token. */
const ASKER: Actor = { kind: 'token', id: 'check-config', name: 'check-config' };

export function sampleSignal(sample: AskedSample, place: Place): Signal {
  const subject = subjectOf(sample, place);
  switch (sample.family) {
    case 'github': {
      const sent = { subject, sourceId: place.source.id, secret: UNSENT_SECRET, deliveryId: DELIVERY_ID };
      return hookSignal(sampleDelivery({ sample: sample.sample, ...sent }), place);
    }
    case 'webhook': {
      const sent = { subject, sourceId: place.source.id, secret: UNSENT_SECRET, deliveryId: DELIVERY_ID };
      const delivery = messageDelivery({ type: sample.type, data: NO_DATA, ...sent });
      if (delivery === null) throw new Error('the secret of an unsent message signs nothing');
      return hookSignal(delivery, place);
    }
    case 'cloudevents': {
      const [from = 'https://ci.example.com/nightly'] = place.source.from;
      const { type, mode } = sample;
      const sender = { eventSource: from.replace(/\*$/, 'check-config'), token: '' };
      const { body, headers } = cloudEventDelivery({
        type,
        mode,
        subject,
        deliveryId: DELIVERY_ID,
        data: NO_DATA,
        ...sender,
      });
      const reading = readCloudEvent(body, headers);
      if (reading.kind !== 'event') throw new CommandEnd(EXIT.usage, reading.detail);
      const asked = { source: place.source, receivedAt: place.now, traceparent: null, actor: ASKER };
      return signalOfCloudEvent(reading.event, asked);
    }
  }
}

function hookSignal({ headers, body }: SampleDelivery, { source, now }: Place): Signal {
  const { hook } = moduleOf(source);
  if (hook === null) throw new Error(`a source of kind ${source.kind} takes no webhooks`);
  const reading = hook.read({ source, rawBody: body, headers, receivedAt: now, traceparent: null });
  if (reading.kind === 'signal') return reading.signal;
  throw new CommandEnd(EXIT.usage, `The sample cannot be read as a delivery. ${reading.detail}`);
}

function subjectOf(sample: AskedSample, { source, repository, now }: Place): SampleSubject {
  const [first] = source.repositories;
  const configured = source.repositories.find(({ fullName }) => fullName === repository);
  const fullName = repository ?? first?.fullName ?? 'acme/api';
  const branch = (configured ?? first)?.defaultBranch ?? 'main';
  return {
    repository: { id: idIn(sample), fullName, defaultBranch: branch },
    branch,
    headSha: HEAD_SHA,
    baseSha: null,
    at: now,
  };
}

/** The forge's number stays the sample's: no configuration names one. */
function idIn(sample: AskedSample): number {
  const repository = sample.family === 'github' ? sample.sample.payload['repository'] : null;
  const id =
    typeof repository === 'object' && repository !== null && 'id' in repository ? repository.id : null;
  return typeof id === 'number' ? id : 1;
}
