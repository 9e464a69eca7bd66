import type { Capabilities, QueuePolicy, Risk, TenantPolicy } from '@headgate/domain';
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
    const missing = Object.entries(requires).filter(([name, need]) => !includes(queue.profile[name], need));
    if (queue.tenants.length > 0 && !queue.tenants.includes(tenant)) {
      reasons.push(`${queue.id} is not for tenant ${tenant}`);
    } else if (!queue.risk.includes(risk)) reasons.push(`${queue.id} takes no ${risk} risk`);
    // A queue without a profile promises nothing and asks for nothing: each worker is matched by itself.
    else if (missing.length > 0 && Object.keys(queue.profile).length > 0) {
      reasons.push(`${queue.id} lacks ${missing.map(([name]) => name).join(', ')}`);
    } else return { kind: 'queue', id: queue.id };
  }
  return { kind: 'none', reasons };
}

/** Profile and requirement are written by the same hand in the same file: equal words, numbers at least. */
function includes(profile: Capabilities[string] | undefined, need: Capabilities[string]): boolean {
  if (profile === undefined) return need === false;
  if (typeof need === 'number' && typeof profile === 'number') return profile >= need;
  if (typeof need !== 'object')
    return Array.isArray(profile) ? profile.includes(String(need)) : profile === need;
  return Array.isArray(profile) && need.every((one) => profile.includes(one));
}
