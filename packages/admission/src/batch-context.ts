/** What a batch is decided with, besides its signals. */
import type { ActivePolicy, Dimensions, PayloadRow } from '@headgate/store';
import type { Prepared } from './prepare.js';

export interface BatchContext {
  readonly active: ActivePolicy;
  readonly dimensions: Dimensions;
  /** Payloads, already encoded, by position in the batch; each stands at the first route of its signal. */
  readonly payloads: readonly (Pick<PayloadRow, 'encoding' | 'data' | 'mediaType' | 'headers'> | null)[];
  /** Queue ids of the policy, for counting what waits. */
  readonly queueIds: readonly number[];
}

export const tenantIdOf = (prepared: Prepared, active: ActivePolicy): number => {
  const id = active.tenantIds.get(prepared.candidate.tenant.id);
  if (id === undefined)
    throw new Error(`tenant ${prepared.candidate.tenant.id} has no row: was the policy activated?`);
  return id;
};
