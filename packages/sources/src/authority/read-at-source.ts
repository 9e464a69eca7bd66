/**
 * A waiting signal, read at its source: what it tells if its payload only wakes, the head where that is missing, the
 * files that it changes where a route asks for them. In this order: each needs the one before.
 */
import type { Signal, SourcePolicy } from '@headgate/domain';
import type { GithubAsker } from './ask-once.js';
import { withChangedFiles } from './changed-files.js';
import type { Readout } from './readout.js';
import { resolveHead } from './resolve-head.js';
import { readEvent } from './wake/read-event.js';

export interface SourceQuestion {
  readonly client: GithubAsker;
  readonly source: SourcePolicy;
  readonly signal: Signal;
  /** Nothing of the payload counts but what it points at. */
  readonly isWake: boolean;
  readonly asksForFiles: (signal: Signal) => boolean;
}

/** Never throws; each question is bounded in time by the client. */
export async function readAtSource(question: SourceQuestion): Promise<Readout> {
  const { client, source, signal, isWake, asksForFiles } = question;
  const event = isWake ? await readEvent({ client, source, signal }) : { kind: 'read' as const, signal };
  if (event.kind !== 'read') return event;
  const head = await resolveHead({ client, source, signal: event.signal });
  if (head.kind !== 'read') return isWake ? { ...head, signal: event.signal } : head;
  if (!asksForFiles(head.signal)) return head;
  return withChangedFiles({ client, source, signal: head.signal, told: signal });
}
