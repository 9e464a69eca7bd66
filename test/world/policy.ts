/** Policies for tests, read from YAML as in the product. */
import { loadConfig } from '@headgate/config';
import type { Policy } from '@headgate/domain';

/** One repository, one agent, and a route for checks; `more` is put behind it. */
export const CHECKS = `
version: 1
sources:
  forge:
    kind: github
    webhookSecrets: [ "\${TEST_SECRET}" ]
    repositories: { acme/api: { url: /nowhere/api.git, defaultBranch: main } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes:
  fix:
    on: [ github.check_run.completed, manual ]
    when: event.check_run.conclusion == "failure"
`;

export const TEST_SECRET = 'a secret of the test';

export async function policyFrom(yaml: string): Promise<Policy> {
  const loaded = await loadConfig({
    text: yaml,
    baseDir: '/',
    env: { TEST_SECRET },
    dataDir: '/nowhere',
    realForge: false,
  });
  if (!loaded.ok) throw new Error(loaded.problems.map((one) => `${one.path}: ${one.message}`).join('\n'));
  return loaded.policy;
}

/** The policy with its only route changed. */
export const withRoute = (policy: Policy, change: Partial<Policy['routes'][number]>): Policy => ({
  ...policy,
  digest: `${policy.digest}:${JSON.stringify(change)}`,
  routes: policy.routes.map((route) => ({ ...route, ...change })),
});
