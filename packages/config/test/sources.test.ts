/** How the facts of a source reach us, by what is written and what is not. */
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../src/index.js';

async function load(source: string, on = 'manual') {
  const result = await loadConfig({
    text: `version: 1
sources: { acme: { ${source} } }
agents: { a: { runtime: command, command: [ a ] } }
routes: { r: { on: [ ${on} ] } }
`,
    baseDir: '/config',
    env: { S: 's', T: 't' },
    realForge: false,
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return { source: result.policy.sources[0], warnings: result.warnings.map(({ message }) => message) };
}

const AT = 'repositories: { acme/api: { url: /srv/api.git } }';

describe('the way in', () => {
  it('of GitHub with an App or a token and no webhook secret is a poll every 30 s', async () => {
    for (const credentials of ['app: "file:app.json"', `token: "\${T}"`]) {
      const { source } = await load(`kind: github, ${credentials}, ${AT}`);
      expect(source).toMatchObject({
        scan: { via: 'poll', everyMs: 30_000 },
        redeliveries: 0,
        webhookSecrets: [],
      });
    }
  });

  it('with a webhook secret too is the hook, a scan every five minutes and three redeliveries', async () => {
    const { source } = await load(`kind: github, token: "\${T}", webhookSecrets: [ "\${S}" ], ${AT}`);
    expect(source).toMatchObject({ scan: { via: 'scan', everyMs: 300_000 }, redeliveries: 3 });
    const chosen = await load(
      `kind: github, token: "\${T}", webhookSecrets: [ "\${S}" ], scan: false, redeliver: 0, replayWindow: 2h, ${AT}`,
    );
    expect(chosen.source).toMatchObject({ scan: null, redeliveries: 0, replayWindowMs: 7_200_000 });
    const both = await load(
      `kind: github, token: "\${T}", webhookSecrets: [ "\${S}" ], poll: { every: 1m }, ${AT}`,
    );
    expect(both.source).toMatchObject({ scan: { via: 'poll', everyMs: 60_000 } });
  });

  it('with a webhook secret alone is the hook alone: GitHub is not asked', async () => {
    const { source } = await load(`kind: github, webhookSecrets: [ "\${S}" ], ${AT}`);
    expect(source).toMatchObject({ scan: null, redeliveries: 0, app: null, token: null });
  });

  it('of git is a poll, where a route listens to it', async () => {
    expect((await load(`kind: git, ${AT}`)).source?.scan).toBeNull();
    expect((await load(`kind: git, ${AT}`, 'git.push')).source?.scan).toEqual({
      via: 'poll',
      everyMs: 30_000,
    });
    expect((await load(`kind: git, poll: false, ${AT}`, 'git.push')).source?.scan).toBeNull();
  });

  it('of the others is what they are sent', async () => {
    const hooks = await load(
      `kind: standard-webhooks, webhookSecrets: [ "\${S}" ], tolerance: 1m`,
      'webhook.a.B',
    );
    expect(hooks.source).toMatchObject({ toleranceMs: 60_000, scan: null, repositories: [] });
    const bus = await load('kind: cloudevents, from: [ "https://a/*" ]', 'cloudevents.com.Acme.Built');
    expect(bus.source).toMatchObject({ from: ['https://a/*'], scan: null, repositories: [] });
  });

  it('warns of an event that polling does not find, and refuses one that nobody can send', async () => {
    const polled = await load(`kind: github, token: "\${T}", ${AT}`, 'github.deployment, github.push');
    expect(polled.warnings).toEqual([
      '"github.deployment" is brought by a webhook only, and the source is polled',
    ]);
    await expect(load(`kind: git, ${AT}`, 'webhook.a.b')).rejects.toThrow(
      'no standard-webhooks source can send \\"webhook.a.b\\" to this route',
    );
  });
});
