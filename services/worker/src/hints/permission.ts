/** What the policy in force says of a run that was admitted under an earlier one (Q7). Pure. */
import type { Mode, Policy, ReasonCode, RoutePolicy, RunSpec, SourcePolicy } from '@headgate/domain';

export type Permission =
  | {
      readonly kind: 'allowed';
      readonly route: RoutePolicy;
      /** Where its repository is configured; null: it has none. */
      readonly source: SourcePolicy | null;
    }
  | { readonly kind: 'denied'; readonly reasonCode: ReasonCode; readonly detail: string };

/**
 * Allowed while the tenant is there and not suspended, its route and agent are, and a source still has the repository.
 * @param sourceId the source that the run came from: asked first for the repository.
 */
export function permission(spec: RunSpec, sourceId: string, policy: Policy): Permission {
  const tenant = policy.tenants.find((one) => one.id === spec.tenant);
  if (tenant === undefined) return denied(`the tenant "${spec.tenant}" is no longer in the configuration`);
  if (tenant.suspended) {
    return {
      kind: 'denied',
      reasonCode: 'TENANT_SUSPENDED',
      detail: `the tenant "${tenant.id}" is suspended`,
    };
  }
  const route = policy.routes.find((one) => one.id === spec.route && one.tenant === spec.tenant);
  if (route === undefined) return denied(`the route "${spec.route}" is no longer in the configuration`);
  if (!policy.agents.some((one) => one.id === spec.agent.id)) {
    return denied(`the agent "${spec.agent.id}" is no longer in the configuration`);
  }
  if (spec.repository === null) return { kind: 'allowed', route, source: null };
  const source = sourceOf(spec.repository.fullName, spec.tenant, sourceId, policy);
  if (source === null) {
    return denied(`the repository "${spec.repository.fullName}" is no longer in the configuration`);
  }
  return { kind: 'allowed', route, source };
}

/** How far a result may go: what was admitted, unless the route has become stricter since. */
export function modeNow(spec: RunSpec, route: RoutePolicy): Mode {
  const order: readonly Mode[] = ['observe', 'propose', 'act'];
  return order[Math.min(order.indexOf(spec.mode), order.indexOf(route.mode))] ?? 'observe';
}

function sourceOf(fullName: string, tenantId: string, sourceId: string, policy: Policy): SourcePolicy | null {
  const wanted = fullName.toLowerCase();
  const having = policy.sources.filter(
    (source) =>
      source.tenant === tenantId &&
      source.repositories.some((repository) => repository.fullName.toLowerCase() === wanted),
  );
  return having.find((source) => source.id === sourceId) ?? having[0] ?? null;
}

const denied = (detail: string): Permission => ({ kind: 'denied', reasonCode: 'POLICY_DENIED', detail });
