/** A latched signal whose waiting row was lost, put together again from its receipt, its payload and its task. */
import { type Actor, ENVELOPE_VERSION, type Signal } from '@headgate/domain';
import type { BrokenLatch } from '@headgate/store';
import type { DeferredSubmission } from './submission.js';

/** Null: its receipt is gone, or it was decided already. */
export function latchedSubmission(
  latch: BrokenLatch,
  payload: { readonly mediaType: string; readonly body: Buffer } | null,
): DeferredSubmission | null {
  const { receipt } = latch;
  if (receipt === null || latch.wasDecided) return null;
  const signal: Signal = {
    source: receipt.source,
    eventId: receipt.eventId,
    type: receipt.type,
    trigger: receipt.trigger,
    via: receipt.via,
    hookId: receipt.hookId,
    subject: null,
    emittedAt: receipt.emittedAt,
    receivedAt: receipt.receivedAt,
    actor: actorOf(receipt.actor),
    repository: receipt.repository,
    target: receipt.target,
    inputVersion: latch.inputVersion,
    sourceAt: latch.sourceAt,
    parentVersions: latch.parentVersions,
    data: payload === null ? null : parsed(payload),
    traceparent: receipt.traceparent,
  };
  return {
    version: ENVELOPE_VERSION,
    signal,
    tenant: latch.tenant,
    work: { workKey: latch.workKey, inputVersion: latch.inputVersion },
    directive: { kind: 'none' },
    headStartSeconds: null,
    beside: null,
    again: null,
    observe: null,
    replays: null,
    workKey: latch.workKey,
    route: receipt.route,
    isWake: false,
    inputVersion: latch.inputVersion,
    debouncedSince: null,
  };
}

const ACTOR_KINDS: readonly Actor['kind'][] = ['user', 'bot', 'schedule', 'token', 'system'];

/** Only the name was kept: it stands for the id too, so that who may ask is still asked. */
export function actorOf(written: string | null): Actor | null {
  const [kind = '', ...rest] = (written ?? '').split(':');
  const known = ACTOR_KINDS.find((one) => one === kind);
  const name = rest.join(':');
  return known === undefined ? null : { kind: known, id: name, name };
}

/** GitHub sends JSON, or a form with the JSON in `payload`. */
function parsed({ mediaType, body }: { readonly mediaType: string; readonly body: Buffer }): unknown {
  const text = body.toString('utf8');
  const isForm = mediaType.startsWith('application/x-www-form-urlencoded');
  try {
    return JSON.parse(isForm ? (new URLSearchParams(text).get('payload') ?? 'null') : text);
  } catch {
    return null;
  }
}
