/** `headgate simulate` over signals that were really received. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Admission } from '@headgate/admission';
import { loadConfig } from '@headgate/config';
import { systemIds } from '@headgate/domain';
import { findSample, readWebhook } from '@headgate/sources';
import { Dimensions, openDatabase, policies } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import { atEnd, testDatabase, withClient } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { headgate, temporaryFolder } from './command-line.js';

const YAML = (when: string) => `version: 1
sources:
  forge:
    kind: github
    webhookSecrets: [ "\${SECRET:-x}" ]
    repositories: { acme/api: { url: local:api.git } }
agents: { tool: { runtime: command, command: [tool] } }
routes:
  fix:
    on: [ github.check_run.completed, github.push ]
    when: ${when}
    limits: { costUsd: 2 }
`;
const ALL = 'has(event.check_run)';

/** Deliveries of three heads of one check, one of them twice, and a push that no route can place. */
async function received() {
  const dataDir = await temporaryFolder();
  const { serviceUrl, ownerUrl } = await testDatabase();
  const logger = createLogger('test', { level: 'silent' });
  const database = openDatabase({ serviceUrl, applicationName: 'test', logger });
  atEnd(() => database.close());
  const loaded = await loadConfig({ text: YAML(ALL), env: {}, dataDir });
  if (!loaded.ok) throw new Error('the policy is wrong');
  await policies.activate(database.service, loaded.policy, 'test');
  const active = await database.service.use((c) => policies.active(c));
  if (active === null) throw new Error('no policy');
  const admission = new Admission({
    pool: database.service,
    dimensions: new Dimensions(database.service),
    ids: systemIds,
    logger,
    policy: () => active,
  });
  const found = findSample('check_run.completed#0');
  if (found.kind !== 'sample') throw new Error(found.detail);
  const deliver = async (head: string, guid: string) => {
    const text = JSON.stringify(found.sample.payload).replaceAll(
      String((found.sample.payload['check_run'] as Record<string, unknown>)['head_sha']),
      head.repeat(40),
    );
    const body = Buffer.from(text);
    const headers = {
      'content-type': 'application/json',
      'x-github-event': 'check_run',
      'x-github-delivery': guid,
    };
    const reading = readWebhook({
      sourceId: 'forge',
      rawBody: body,
      headers,
      receivedAt: new Date(),
      traceparent: null,
    });
    if (reading.kind !== 'signal') throw new Error('unreadable');
    return admission.submit({
      signal: reading.signal,
      tenant: 'default',
      payload: { mediaType: 'application/json', body },
    });
  };
  const guid = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
  for (const [head, n] of [
    ['a', 1],
    ['a', 1],
    ['b', 2],
    ['c', 3],
  ] as const) {
    await deliver(head, guid(n));
  }
  return { dataDir, env: { DATABASE_URL_SERVICE: serviceUrl }, ownerUrl };
}

const counts = (ownerUrl: string) =>
  withClient(ownerUrl, async (client) => {
    const tables = [
      'receipt',
      'run',
      'task',
      'queue_item',
      'deferred_signal',
      'run_event',
      'dimension',
      'policy_version',
    ];
    const rows = await Promise.all(
      tables.map((t) => client.query(`select count(*)::int as n from headgate.${t}`)),
    );
    return rows.map(({ rows: [row] }) => row.n);
  });

describe('headgate simulate', () => {
  it('I17: decides what was received as it was decided, by the real code, and writes nothing', async () => {
    const { dataDir, env, ownerUrl } = await received();
    const before = await counts(ownerUrl);

    const told = await headgate(['simulate', '--since', '1d', '--json'], { dataDir, env });

    expect(told.code).toBe(0);
    const report = JSON.parse(told.out);
    expect(report).toMatchObject({ signals: 4, lost: 0, other: null, differences: [] });
    expect(report.active).toMatchObject({
      runs: 3,
      pullRequests: 1,
      maxUsd: 6,
      estimatedUsd: null,
      skipped: { DUPLICATE_DELIVERY: 1 },
      routes: [{ route: 'fix', runs: 3, maxUsd: 6 }],
    });
    expect(await counts(ownerUrl)).toEqual(before);
  });

  it('I17: compares the active policy with a file: runs, skips by reason, and each signal that is decided otherwise', async () => {
    const { dataDir, env } = await received();
    await writeFile(join(dataDir, 'new.yaml'), YAML('event.check_run.conclusion == "nothing"'));

    const told = await headgate(['simulate', '--config', 'new.yaml', '--json'], { dataDir, env });

    const report = JSON.parse(told.out);
    expect(report.other).toMatchObject({ runs: 0, skipped: { NOT_ELIGIBLE: 3, DUPLICATE_DELIVERY: 1 } });
    expect(report.differences).toHaveLength(3);
    expect(report.differences[0]).toMatchObject({ before: ['fix ADMITTED'], after: ['NOT_ELIGIBLE'] });
    const people = await headgate(['simulate', '--config', 'new.yaml'], { dataDir, env });
    expect(people.out).toContain('Decided differently (3)');
    expect(people.out).toContain('NOT_ELIGIBLE');
  });

  it('I17: deliveries whose payload is gone are counted, not forgotten', async () => {
    const { dataDir, env, ownerUrl } = await received();
    await withClient(ownerUrl, (client) => client.query('delete from headgate.payload'));
    const report = JSON.parse((await headgate(['simulate', '--json'], { dataDir, env })).out);
    expect(report).toMatchObject({ signals: 0, lost: 3, active: { runs: 0 } });
  });
});
