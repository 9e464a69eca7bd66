/** What can go wrong at a provider. `after`: the write took effect and the caller does not hear of it. */
export type Fault =
  | { readonly kind: 'bad-gateway'; readonly when: 'before' | 'after' }
  | { readonly kind: 'too-many-requests'; readonly retryAfterSeconds: number }
  /** The primary limit: 403, nothing remaining, and when it is reset. */
  | { readonly kind: 'used-up'; readonly resetAt: Date }
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'hang'; readonly when: 'before' | 'after' }
  | { readonly kind: 'reset'; readonly when: 'before' | 'after' };

export interface FaultPlan {
  readonly fault: Fault;
  /** For how many matching calls. */
  readonly count: number;
  readonly method?: string;
  readonly path?: RegExp;
}

/** The faults that are still to happen, oldest first. */
export class Faults {
  readonly #plans: { plan: FaultPlan; left: number }[] = [];

  add(plan: FaultPlan): void {
    this.#plans.push({ plan, left: plan.count });
  }

  clear(): void {
    this.#plans.length = 0;
  }

  /** Takes the fault for this call, if one is planned. */
  take(method: string, path: string): Fault | null {
    const entry = this.#plans.find(
      ({ plan, left }) =>
        left > 0 &&
        (plan.method === undefined || plan.method.toUpperCase() === method) &&
        (plan.path === undefined || path.search(plan.path) >= 0),
    );
    if (entry === undefined) return null;
    entry.left -= 1;
    return entry.plan.fault;
  }
}
