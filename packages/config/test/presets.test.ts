import { findPreset, loadConfig, PRESETS, presetYaml } from '@headgate/config';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { policyOf } from './say.js';

const WITH_GITHUB = `version: 1
sources:
  acme:
    kind: github
    webhookSecrets: [ "\${SECRET:-x}" ]
    repositories: { acme/api: { url: local:api.git } }
agents: { tool: { runtime: command, command: [tool] } }
routes:
`;

describe('presets', () => {
  it.each(PRESETS.map(({ name }) => [name]))(
    '%s is a sound route by itself, by name and written out',
    async (name) => {
      const preset = findPreset(name);
      if (preset === null) throw new Error('no preset');
      const byName = await policyOf(`${WITH_GITHUB}  it: { use: ${name} }\n`);
      const [written] = Object.values(parse(presetYaml(preset)).routes as Record<string, object>);
      const writtenOut = await policyOf(`${WITH_GITHUB}  it: ${JSON.stringify(written)}\n`);
      expect(writtenOut.routes).toEqual(byName.routes);
      expect(byName.routes[0]?.prompt).not.toBeNull();
    },
  );

  it('every key of the route wins over the preset’s', async () => {
    const policy = await policyOf(
      `${WITH_GITHUB}  it: { use: fix-failing-check@1, on: [manual], prompt: mine, timeToLive: 1h }\n`,
    );
    expect(policy.routes[0]).toMatchObject({
      on: [{ kind: 'manual' }],
      prompt: 'mine',
      timeToLiveMs: 3_600_000,
      when: { source: 'event.check_run.conclusion == "failure"' },
    });
  });

  it('a wrong key beside a preset is told at its place, and only that', async () => {
    const result = await loadConfig({
      text: `${WITH_GITHUB}  it:\n    use: fix-failing-check@1\n    prmpt: x\n`,
      env: {},
    });
    if (result.ok) throw new Error('accepted');
    expect(result.problems).toMatchObject([
      { path: 'routes.it.prmpt', line: 11, fix: 'Did you mean "prompt"?' },
    ]);
  });
});
