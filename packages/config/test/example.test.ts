// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to secrets are written so
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonSchema, loadConfig } from '@headgate/config';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const EXAMPLE = join(import.meta.dirname, '../../../headgate.yaml');

describe('the example headgate.yaml', () => {
  it('loads without a warning, with no environment at all', async () => {
    const result = await loadConfig({ path: EXAMPLE, env: {}, dataDir: '/data' });
    expect(result).toMatchObject({ ok: true, warnings: [], files: [EXAMPLE] });
  });

  it('is what the contract for scripts says: source, authority, routes, triggers, lease, back-off', async () => {
    const result = await loadConfig({ path: EXAMPLE, env: {}, dataDir: '/data' });
    if (!result.ok) throw new Error('the example does not load');
    const { policy } = result;
    expect(policy.tenants.map(({ id }) => id)).toEqual(['default']);
    const repositories = [
      {
        fullName: 'headgate/example',
        url: '/data/example/repository.git',
        defaultBranch: 'main',
        ciTrusted: false,
      },
    ];
    const plain = {
      webhookSecrets: [],
      app: null,
      token: null,
      baseUrl: null,
      authority: 'payload',
      replayWindowMs: null,
      toleranceMs: 300_000,
      from: [],
      scan: null,
      redeliveries: 0,
      repositories,
      tenant: 'default',
      realForge: false,
    };
    expect(policy.sources).toEqual([
      {
        ...plain,
        id: 'example-github',
        kind: 'github',
        webhookSecrets: ['${HEADGATE_EXAMPLE_WEBHOOK_SECRET:-example-webhook-secret}'],
      },
      { ...plain, id: 'example-events', kind: 'cloudevents', from: ['https://ci.example.com/*'] },
      {
        ...plain,
        id: 'example-webhooks',
        kind: 'standard-webhooks',
        webhookSecrets: ['${HEADGATE_EXAMPLE_SIGNING_SECRET:-whsec_ZXhhbXBsZS13ZWJob29rLXNlY3JldA==}'],
      },
      {
        ...plain,
        id: 'example-git',
        kind: 'git',
        authority: 'source',
        scan: { everyMs: 5_000, via: 'poll' },
      },
    ]);
    expect(policy.agents).toMatchObject([{ id: 'example', trustedExample: true }]);
    expect(policy.lease).toEqual({
      ttlMs: 12_000,
      heartbeatMs: 3_000,
      renewDeadlineMs: 8_000,
      stopMarginMs: 4_000,
    });
    expect(policy.routes).toMatchObject([
      {
        id: 'fix-failing-check',
        on: [{ kind: 'event', type: 'github.check_run.completed' }, { kind: 'manual' }],
        when: { source: 'event.check_run.conclusion == "failure"' },
        mode: 'act',
        agent: 'example',
        queue: 'default',
        retry: { backoffMs: [1_000] },
      },
      {
        id: 'mend-build',
        on: [
          { kind: 'event', type: 'cloudevents.com.example.build.failed' },
          { kind: 'event', type: 'webhook.deploy.failed' },
        ],
        mode: 'act',
      },
      { id: 'look-over', on: [{ kind: 'event', type: 'git.push' }], mode: 'act' },
      {
        id: 'tidy',
        on: [{ kind: 'schedule', ordinal: 0, cron: '@every 20s', timezone: 'UTC' }, { kind: 'manual' }],
        mode: 'act',
        repositories: ['headgate/example'],
        headStartSeconds: -3600,
        queue: 'default',
      },
      {
        id: 'no-fixme',
        on: [
          { kind: 'goal', ordinal: 0, until: { source: 'observation.exitCode == 0' }, stop: { maxRuns: 3 } },
        ],
        mode: 'act',
        repositories: ['headgate/example'],
      },
      {
        id: 'demo-break',
        on: [{ kind: 'event', type: 'github.workflow_run.completed' }],
        when: { source: 'event.workflow_run.name == "demo-break"' },
        queue: 'demo',
        requires: { demo: true },
      },
    ]);
  });

  it('is valid by the exported JSON Schema, which knows every mistake of spelling and type', async () => {
    const validate = new Ajv2020({ allErrors: true }).compile(jsonSchema());
    const example: unknown = parse(await readFile(EXAMPLE, 'utf8'));
    validate(example);
    expect(validate.errors).toBeNull();
    for (const wrong of [
      { version: 2 },
      { version: 1, route: {} },
      { version: 1, routes: { tidy: { on: [] } } },
      { version: 1, routes: { tidy: { on: ['manual'], moed: 'act' } } },
      { version: 1, routes: { tidy: { on: ['manual'], timeToLive: 30 } } },
      { version: 1, routes: { tidy: { on: ['manual'], mode: 'actt' } } },
      { version: 1, agents: { a: { runtime: 'claude', command: ['x'] } } },
      { version: 1, lease: { ttl: '5x' } },
    ]) {
      expect(validate(wrong), JSON.stringify(wrong)).toBe(false);
    }
  });
});
