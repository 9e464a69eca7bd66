/** Which repositories the policy has looked at, each with its watermark's key. Pure. */
import type { Policy, ScanPolicy, SourcePolicy } from '@headgate/domain';
import { type LookTarget, lookTargets } from '@headgate/sources';
import type { ActivePolicy, WatermarkKey } from '@headgate/store';

export interface ScanTarget extends LookTarget {
  readonly key: WatermarkKey;
  readonly scan: ScanPolicy;
}

export function scanTargets({ policy, tenantIds }: ActivePolicy): readonly ScanTarget[] {
  return lookTargets(policy).flatMap((target) => {
    const { source, repository } = target;
    const { scan } = source;
    const tenantId = tenantIds.get(source.tenant);
    if (scan == null || tenantId === undefined) return [];
    const key = { tenantId, source: source.id, repository: repository.fullName };
    return [{ ...target, key, scan }];
  });
}

/** Whether a route of the source's tenant wants any event of this name. */
export const listensToEvent = ({ routes }: Policy, source: SourcePolicy, event: string): boolean =>
  routes
    .filter((route) => route.tenant === source.tenant)
    .filter((route) => route.sources.length === 0 || route.sources.includes(source.id))
    .some((route) =>
      route.on.some((on) => on.kind === 'event' && (on.type === event || on.type.startsWith(`${event}.`))),
    );

export const keyText = ({ tenantId, source, repository }: WatermarkKey): string =>
  `${tenantId} ${source} ${repository}`;
