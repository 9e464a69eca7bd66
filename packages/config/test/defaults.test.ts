import { loadConfig } from '@headgate/config';
import { describe, expect, it } from 'vitest';
import { policyOf, problemsOf, SOUND, withRoute } from './say.js';

const REAL = (more = '') => `version: 1
sources:
  acme:
    kind: github
    webhookSecrets: [ "\${ACME_SECRET}" ]
    repositories:
      acme/api: { url: "git@github.com:acme/api.git" }
      acme/web-shop: { url: "https://github.com/acme/web-shop.git", ciTrusted: true }
agents: { tool: { runtime: command, command: [tool] } }
budgets: { perDayUsd: 25 }
routes:
  fix: { on: [ github.check_run.completed, manual ]${more} }
`;

describe('defaults', () => {
  it('a local git repository is acted upon, with 30 minutes, three attempts and no price', async () => {
    const [route] = (await policyOf(withRoute())).routes;
    expect(route).toMatchObject({ mode: 'act', retry: { maxAttempts: 3 } });
    expect(route?.limits).toMatchObject({ wallClockMs: 1_800_000, costUsd: null });
  });

  it('a real forge only gets proposals, 3 USD, 30 minutes and two attempts', async () => {
    const [route] = (await policyOf(REAL())).routes;
    expect(route).toMatchObject({ mode: 'propose', retry: { maxAttempts: 2 } });
    expect(route?.limits).toMatchObject({ wallClockMs: 1_800_000, costUsd: 3 });
  });

  it('a source is a real forge when git reaches it over a network, unless the caller says otherwise', async () => {
    expect((await policyOf(REAL())).sources[0]?.realForge).toBe(true);
    expect((await policyOf(withRoute())).sources[0]?.realForge).toBe(false);
    expect((await policyOf(REAL(), { realForge: false })).routes[0]?.mode).toBe('act');
    expect((await policyOf(withRoute(), { realForge: true })).routes[0]?.mode).toBe('propose');
  });

  it('act on a real forge needs ciTrusted for every repository that the route reaches', async () => {
    const trusted = await policyOf(REAL(', mode: act, repositories: [ "acme/web-*" ]'));
    expect(trusted.routes[0]?.mode).toBe('act');
    expect(await problemsOf(REAL(', mode: act'))).toContain(
      'mode act pushes to "acme/api", whose CI is not declared safe for it',
    );
  });

  it('what a run may cost comes from the route, else from the budget', async () => {
    const own = await policyOf(REAL(', limits: { costUsd: 1.5 }'));
    const shared = await policyOf(REAL().replace('perDayUsd: 25', 'perRunUsd: 2, perDayUsd: 25'));
    expect(own.routes[0]?.limits.costUsd).toBe(1.5);
    expect(shared.routes[0]?.limits.costUsd).toBe(2);
    expect(shared.budgets).toEqual({ perRunUsd: 2, perDayUsd: 25 });
  });

  it('protected paths of the route are added to the fixed ones, never in their place', async () => {
    const [route] = (await policyOf(withRoute('protectedPaths: [ package-lock.json ]'))).routes;
    expect(route?.protectedPaths).toContain('.github/**');
    expect(route?.protectedPaths).toContain('package-lock.json');
  });

  it('I12: priority becomes seconds of head start', async () => {
    for (const [written, seconds] of [
      ['urgent', 14_400],
      ['high', 3_600],
      ['normal', 0],
      ['low', -3_600],
      ['90', 90],
      ['-90', -90],
    ]) {
      const [route] = (await policyOf(withRoute(`priority: ${written}`))).routes;
      expect(route?.headStartSeconds).toBe(seconds);
    }
  });

  it('I2: a schedule keeps its contract: zone, jitter, overlap, catch-up, and its place in the list', async () => {
    const text = withRoute().replace(
      '[manual]',
      '[ manual, { cron: "0  3 * * 1", timezone: Europe/Berlin, jitter: 5m, overlap: bufferOne, catchUp: { mode: all, window: 7d, max: 3 } }, { cron: "@every 1h30m" } ]',
    );
    const [route] = (await policyOf(`${text}tenants: { default: { timezone: Asia/Tokyo } }\n`)).routes;
    expect(route?.on).toEqual([
      { kind: 'manual' },
      {
        kind: 'schedule',
        ordinal: 1,
        cron: '0 3 * * 1',
        timezone: 'Europe/Berlin',
        startAt: null,
        endAt: null,
        exclude: [],
        jitterMs: 300_000,
        pauseOnFailure: false,
        overlap: 'bufferOne',
        catchUp: { mode: 'all', windowMs: 604_800_000, max: 3 },
      },
      {
        kind: 'schedule',
        ordinal: 2,
        cron: '@every 1h30m',
        timezone: 'Asia/Tokyo',
        startAt: null,
        endAt: null,
        exclude: [],
        jitterMs: 0,
        pauseOnFailure: false,
        overlap: 'skip',
        catchUp: { mode: 'latest', windowMs: 86_400_000, max: 1 },
      },
    ]);
  });

  it('Q21: a route goes to the first queue that takes its tenant, its risk and what it requires', async () => {
    const queues = `queues:
  - { id: risky, risk: [high, critical] }
  - { id: graphics, profile: { gpu: true, memoryGb: 16 } }
  - { id: node, profile: { node: "22.1.0" }, tenants: [default] }
  - { id: acme-only, tenants: [acme] }
  - { id: default }
tenants: { default: {}, acme: {} }
`;
    const queueOf = async (...lines: readonly string[]) =>
      (await policyOf(`${withRoute(...lines).replace('kind: git,', 'kind: git, tenant: default,')}${queues}`))
        .routes[0]?.queue;
    expect(await queueOf('risk: high')).toBe('risky');
    expect(await queueOf('requires: { gpu: true, memoryGb: 8 }')).toBe('graphics');
    expect(await queueOf('requires: { gpu: true, memoryGb: 32 }')).toBe('default');
    expect(await queueOf('requires: { node: ">=20" }')).toBe('node');
    expect(await queueOf('requires: { node: ">=24" }')).toBe('default');
  });

  it('limits by risk are known by their capital names, however they are written', async () => {
    const policy = await policyOf(
      `${SOUND}limits: { maxActive: 10, maxActiveByRisk: { high: 2, LOW: 8 } }\n`,
    );
    expect(policy.limits).toEqual({
      maxActive: 10,
      maxActivePerRepository: null,
      maxActivePerUser: null,
      maxActiveByRisk: { HIGH: 2, LOW: 8 },
      maxActiveByProvider: {},
    });
  });

  it('a network list is read to names and ports; without one nothing is reached', async () => {
    const network =
      '{ setup: [Packages.Example.com, { host: "npm.internal:4873", private: true }], agent: ["*.example.com:8443"] }';
    const policy = await policyOf(SOUND.replace('command: [tool]', `command: [tool], network: ${network}`));
    expect(policy.agents[0]?.network).toEqual({
      setup: [
        { host: 'packages.example.com', port: 443, allowPrivate: false },
        { host: 'npm.internal', port: 4873, allowPrivate: true },
      ],
      agent: [{ host: '*.example.com', port: 8443, allowPrivate: false }],
    });
    expect((await policyOf(SOUND)).agents[0]).not.toHaveProperty('network');
  });

  it('says aloud what a sound file will not do', async () => {
    const warnings = async (text: string) => {
      const result = await loadConfig({ text, env: {} });
      if (!result.ok) throw new Error('refused');
      return result.warnings.map(({ path, message }) => `${path}: ${message}`);
    };
    expect(await warnings('version: 1\n')).toEqual(['routes: there are no routes']);
    expect(await warnings(REAL())).toEqual([
      'sources.acme.webhookSecrets[0]: the variable ACME_SECRET is not set',
      'budgets: agents of runtime command report no cost, so a budget cannot stop them',
    ]);
  });
});
