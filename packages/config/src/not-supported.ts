/**
 * What people will write because the plan or another tool has it, and this version does not do. Each is
 * refused by name: a key that is silently ignored would be a promise that is not kept.
 */
type Section =
  | 'file'
  | 'tenant'
  | 'tenantLimits'
  | 'source'
  | 'agent'
  | 'route'
  | 'trigger'
  | 'sourceKind'
  | 'runtime'
  | 'triggerName';

/** Word -> what to do instead. */
export const NOT_SUPPORTED: Readonly<Record<Section, Readonly<Record<string, string>>>> = {
  file: {
    goals: 'Write the goal in its route: on: [ { goal: … } ].',
    campaigns: 'Send signals with `headgate trigger`.',
    notify: 'Read `headgate status` or /metrics.',
    providers: 'Use limits.maxActiveByProvider.',
    prices: 'Command agents report no cost.',
    presets: 'Write use: NAME@1 in a route.',
    freezes: 'Suspend a tenant (tenants.ID.suspended).',
  },
  tenant: {
    allowedRisk: 'Use queues with risk and tenants.',
    budgets: 'Use budgets at the top.',
  },
  tenantLimits: { maxCostPerDayUsd: 'Use budgets.perDayUsd at the top.' },
  source: {
    intake: 'Write poll: true, or webhookSecrets.',
    webhooks: 'Write webhookSecrets.',
    installation: 'The installation is found by the repository.',
  },
  agent: {
    apiKey: 'Agents hold no credentials.',
    model: 'Give it as an argument in command.',
    image: 'The command runs in the sandbox of its worker.',
    tools: 'Give them as arguments in command.',
  },
  route: {
    freshness: 'The head is always read again before an agent starts.',
    context: 'The command reads its input file.',
    judge: 'Use verify, paths and protectedPaths.',
    publish: 'Each run pushes a branch of its own.',
    effects: 'Each run pushes a branch of its own.',
    fallback: 'Name one agent.',
    retention: 'Use retention at the top.',
    pauseOnFailure: 'Write it in the trigger: { cron: …, pauseOnFailure: true }.',
    budgets: 'Use limits.costUsd in the route.',
    goal: 'Write it in the list: on: [ { goal: … } ].',
  },
  trigger: {
    webhook: 'Write the event by name: github.check_run.completed.',
    poll: 'Write poll: true in the source.',
  },
  sourceKind: {
    gitlab: 'Use kind: git.',
    gitea: 'Use kind: git.',
    bitbucket: 'Use kind: git.',
  },
  runtime: {
    claude: 'Use runtime: command with the CLI as the command.',
    codex: 'Use runtime: command with the CLI as the command.',
    docker: 'Use runtime: command.',
    http: 'Use runtime: command.',
  },
  triggerName: {
    goal: 'Write { goal: { observe: …, until: …, stop: … } }.',
    campaign: 'Use manual.',
    poll: 'Write poll: true in the source, and the event here.',
    schedule: 'Write { cron: "0 3 * * 1" }.',
  },
};

export type { Section };

export function notSupported(section: Section, word: string): { message: string; fix: string } | null {
  const known = NOT_SUPPORTED[section];
  const fix = Object.hasOwn(known, word) ? known[word] : undefined;
  return fix === undefined ? null : { message: `"${word}" is not supported in this version`, fix };
}
