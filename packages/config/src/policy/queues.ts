import {
  type Capabilities,
  match,
  missingInWords,
  type QueuePolicy,
  type Risk,
  type TenantPolicy,
} from '@headgate/domain';
import { suggest } from '../problems/index.js';
import type { HeadgateFile } from '../schema/headgate-file.js';
import { RISKS } from '../schema/scalars.js';
import { DEFAULT_QUEUE } from './defaults.js';
import type { Notebook } from './notebook.js';

export function resolveQueues(
  file: HeadgateFile,
  tenants: readonly TenantPolicy[],
  broken: ReadonlySet<string>,
  notes: Notebook,
): readonly QueuePolicy[] {
  const written = file.queues ?? [];
  if (written.length === 0) return [{ id: DEFAULT_QUEUE, profile: {}, risk: RISKS, tenants: [] }];
  const known = tenants.map(({ id }) => id);
  const seen = new Set<string>();
  return written.map((queue, index): QueuePolicy => {
    if (seen.has(queue.id)) {
      notes.problem(['queues', index, 'id'], `there are two queues "${queue.id}"`, 'Rename or remove one.');
    }
    seen.add(queue.id);
    for (const [position, tenant] of (queue.tenants ?? []).entries()) {
      if (known.includes(tenant) || broken.has(`tenants.${tenant}`)) continue;
      notes.problem(
        ['queues', index, 'tenants', position],
        `there is no tenant "${tenant}"`,
        suggest(tenant, known),
      );
    }
    return {
      id: queue.id,
      profile: queue.profile ?? {},
      risk: [...new Set(queue.risk ?? RISKS)],
      tenants: queue.tenants ?? [],
    };
  });
}

export interface QueueNeed {
  readonly requires: Capabilities;
  readonly risk: Risk;
  readonly tenant: string;
}

export type QueueChoice =
  | { readonly kind: 'queue'; readonly id: string }
  /** Every queue with what it lacks, for the error. */
  | { readonly kind: 'none'; readonly reasons: readonly string[] };

/** The first queue, in file order, that takes the tenant, the risk and all that is required. */
export function chooseQueue(
  queues: readonly QueuePolicy[],
  { requires, risk, tenant }: QueueNeed,
): QueueChoice {
  const reasons: string[] = [];
  for (const queue of queues) {
    const fit = match(requires, queue.profile);
    if (queue.tenants.length > 0 && !queue.tenants.includes(tenant)) {
      reasons.push(`${queue.id} is not for tenant ${tenant}`);
    } else if (!queue.risk.includes(risk)) reasons.push(`${queue.id} takes no ${risk} risk`);
    // A queue without a profile promises nothing and asks for nothing: each worker is matched by itself.
    else if (!fit.ok && Object.keys(queue.profile).length > 0) {
      reasons.push(`${queue.id} lacks ${missingInWords(fit.missing)}`);
    } else return { kind: 'queue', id: queue.id };
  }
  return { kind: 'none', reasons };
}
