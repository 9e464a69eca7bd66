/**
 * Which news of a look are submitted. Work that was admitted before is left out: a hook brought it. Beside a hook, what
 * no route takes is left out too: the hook's receipt has said so. Where looking is the only way in, it gets its receipt
 * here.
 *
 * A comment on a pull request names work only once its head was read. It is known by itself: heard from a hook, or not
 * yet. What our own accounts said is left out beside a hook, too.
 */
import { SIGNAL_READERS, workOf } from '@headgate/admission';
import {
  deliveryKey,
  hashWorkKey,
  type Policy,
  routeSignal,
  type Signal,
  type WorkIdentity,
} from '@headgate/domain';
import { heardAs, ownSign } from '@headgate/sources';
import { type ActivePolicy, type Connection, deliveries, taskVersions } from '@headgate/store';
import type { ScanTarget } from './targets.js';

export interface Sifted {
  readonly wanted: readonly Signal[];
  /** How many a hook had brought before. */
  readonly brought: number;
}

export async function sift(
  c: Connection,
  signals: readonly Signal[],
  { key, source, scan }: ScanTarget,
  { policy }: ActivePolicy,
): Promise<Sifted> {
  const isOnlyWay = scan.via === 'poll' && source.webhookSecrets.length === 0;
  const known = signals.map((signal) => ({
    signal,
    works: !isOnlyWay && ownSign(signal, source.self) !== null ? [] : worksFor(signal, policy),
  }));
  const brought = new Set([
    ...(await admitted(c, key.tenantId, known)),
    ...(await heard(
      c,
      known.filter(({ works }) => works === 'unread').map(({ signal }) => signal),
    )),
  ]);
  const isTaken = ({ works }: Known): boolean => works === 'unread' || works.length > 0;
  const wanted = known
    .filter((one) => !brought.has(one.signal) && (isOnlyWay || isTaken(one)))
    .map(({ signal }) => signal);
  return { wanted, brought: brought.size };
}

interface Known {
  readonly signal: Signal;
  readonly works: readonly WorkIdentity[] | 'unread';
}

/** Of each route that takes it; a comment whose head has to be read first is `unread`. */
function worksFor(signal: Signal, policy: Policy): Known['works'] {
  const routing = routeSignal(signal, policy, SIGNAL_READERS);
  if (routing.kind !== 'routes') return [];
  const works = routing.routes.flatMap((route) => workOf(signal, route).work ?? []);
  return works.length === 0 && heardAs(signal) !== null ? 'unread' : works;
}

/** One route that has not seen it is enough: admission tells the others that they have. */
async function admitted(
  c: Connection,
  tenantId: number,
  known: readonly Known[],
): Promise<readonly Signal[]> {
  const asked = known.flatMap(({ signal, works }) =>
    works === 'unread'
      ? []
      : works.map(({ workKey, inputVersion }) => ({ signal, keyHash: hashWorkKey(workKey), inputVersion })),
  );
  const positions = await taskVersions.admitted(c, tenantId, asked);
  const missing = new Set(asked.filter((_one, at) => !positions.has(at)).map(({ signal }) => signal));
  return asked.map(({ signal }) => signal).filter((signal) => !missing.has(signal));
}

async function heard(c: Connection, comments: readonly Signal[]): Promise<readonly Signal[]> {
  const named = comments.flatMap((signal) => {
    const eventId = heardAs(signal);
    return eventId === null ? [] : [{ signal, sourceId: signal.source, eventId }];
  });
  const firsts = await deliveries.first(c, named);
  return named
    .filter(({ sourceId, eventId }) => firsts.has(deliveryKey({ source: sourceId, eventId })))
    .map(({ signal }) => signal);
}
