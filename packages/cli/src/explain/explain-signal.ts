/**
 * What a policy would do with one signal if nothing of its work were known: every rule of every route with its verdict,
 * and the decision of each that takes it, by the code that decides in earnest. Nothing is written.
 */
import { SIGNAL_READERS, type Simulated, simulate, workOf } from '@headgate/admission';
import { explainRouting, type Policy, type RouteVerdict, type Signal, systemIds } from '@headgate/domain';
import type { Terminal } from '../terminal/terminal.js';

export interface RouteExplanation extends RouteVerdict {
  readonly workKey: string | null;
  readonly inputVersion: string | null;
  /** Of a route that takes it. */
  readonly outcome: Simulated['outcome'] | null;
  readonly reasonCode: string | null;
  readonly message: string | null;
}

export interface SignalExplanation {
  readonly type: string;
  readonly repository: string | null;
  readonly target: string | null;
  readonly routes: readonly RouteExplanation[];
  /** What the sender is told when no route takes it. */
  readonly verdict: { readonly reasonCode: string; readonly message: string } | null;
}

export function explainSignal(signal: Signal, tenant: string, policy: Policy): SignalExplanation {
  const decided = simulate([{ at: signal.receivedAt, submission: { signal, tenant, payload: null } }], {
    policy,
    ids: systemIds,
    until: signal.receivedAt,
    durationMs: () => 0,
  });
  const untaken = decided.find(({ route }) => route === null) ?? null;
  return {
    type: signal.type,
    repository: signal.repository?.fullName ?? null,
    target: signal.target === null ? null : `${signal.target.kind} ${signal.target.id}`,
    routes: explainRouting(signal, policy, SIGNAL_READERS).map((verdict): RouteExplanation => {
      const route = policy.routes.find((one) => one.id === verdict.route);
      const work = route === undefined || !verdict.takes ? null : workOf(signal, route).work;
      const decision = decided.find((one) => one.route === verdict.route);
      return {
        ...verdict,
        workKey: work?.workKey ?? null,
        inputVersion: work?.inputVersion ?? null,
        outcome: decision?.outcome ?? null,
        reasonCode: decision?.reasonCode ?? null,
        message: decision?.message ?? null,
      };
    }),
    verdict: untaken === null ? null : { reasonCode: untaken.reasonCode, message: untaken.message },
  };
}

/**
 * Of a route that takes it, all it was asked. Of another, what keeps it: a route that does not listen to the event is
 * not reproached with the rest.
 */
function ruleLines({ rules, takes }: RouteExplanation, colors: Terminal['colors']): readonly string[] {
  if (takes)
    return [`    ${colors.green('✓')} ${rules.map(({ rule }) => rule.replace(/^route\./, '')).join(', ')}`];
  const broken = rules.filter(({ holds }) => !holds);
  const deaf = broken.find(({ rule }) => rule === 'route.on');
  return (deaf === undefined ? broken : [deaf]).map(
    ({ rule, detail }) => `    ${colors.red('✕')} ${rule}${detail === null ? '' : colors.dim(`  ${detail}`)}`,
  );
}

export function explanationLines(
  explanation: SignalExplanation,
  { colors }: Pick<Terminal, 'colors'>,
): string {
  const { type, repository, target, routes, verdict } = explanation;
  const about = [repository, target].filter((part) => part !== null).join(', ');
  const lines = [`${colors.bold(type)}${about === '' ? '' : ` about ${about}`}`];
  for (const route of routes) {
    lines.push('', `${route.takes ? colors.green('✓') : colors.dim('–')} ${colors.bold(route.route)}`);
    lines.push(...ruleLines(route, colors));
    if (route.workKey !== null) lines.push(`    key      ${route.workKey}`);
    if (route.inputVersion !== null) lines.push(`    version  ${route.inputVersion}`);
    if (route.reasonCode !== null)
      lines.push(`    outcome  ${route.outcome} ${route.reasonCode}: ${route.message}`);
  }
  if (verdict !== null) lines.push('', `No route takes it: ${verdict.reasonCode}. ${verdict.message}`);
  return lines.join('\n');
}
