/**
 * Files as people wrote them for earlier versions, each kept as it was. They load as they did, or are refused with the
 * sentence that says how to write them now. A file here is never edited.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatProblems, loadConfig } from '@headgate/config';
import { type Policy, readStoredPolicy, storedPolicy } from '@headgate/domain';
import { describe, expect, it } from 'vitest';
import { policyOf, problemsOf, withRoute } from './say.js';

const FOLDER = join(import.meta.dirname, 'compatibility');
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));

async function loaded(name: string): Promise<Policy> {
  const result = await loadConfig({ path: join(FOLDER, name), env: {}, dataDir: '/data' });
  if (!result.ok) throw new Error(formatProblems(result.problems, name));
  return result.policy;
}

describe('a headgate.yaml of an earlier version', () => {
  it.each(FILES)('I20: %s loads', async (name) => {
    const policy = await loaded(name);
    expect(policy.routes.length).toBeGreaterThan(0);
    // What it does not say is as it was before there was a word for it.
    expect(policy.retentionDays.history).toBe(90);
  });

  it('I20: means what it meant: triggers, modes, limits and schedules of the whole one', async () => {
    const policy = await loaded('forge.yaml');
    const [fix, weekly, goal] = policy.routes;
    expect(fix).toMatchObject({
      id: 'fix-failing-check',
      mode: 'propose',
      onNewVersion: 'queueOne',
      debounce: { quietMs: 30_000, maxMs: 300_000 },
      headStartSeconds: 3_600,
      limits: { wallClockMs: 1_800_000, costUsd: 3 },
    });
    expect(weekly?.on).toMatchObject([
      { kind: 'schedule', cron: '0 3 * * 1', overlap: 'bufferOne', catchUp: { mode: 'latest', max: 3 } },
    ]);
    expect(goal?.on).toMatchObject([{ kind: 'goal', stop: { maxRuns: 5, noProgress: 2 } }]);
    expect(policy.sources.map(({ kind }) => kind)).toEqual([
      'github',
      'cloudevents',
      'standard-webhooks',
      'git',
    ]);
  });

  it.each([
    [
      'a file of a newer version',
      'version: 2\nroutes: {}\n',
      'version: version 2 is of a newer Headgate; this one reads version 1. Upgrade this process, or write the file for version 1.',
    ],
    ['a version that never was', 'version: "1"\n', 'version: version "1" is not known. Write version: 1.'],
    [
      'a key of the plan that is not there',
      withRoute('judge: strict'),
      'routes.tidy.judge: "judge" is not supported in this version. Use verify, paths and protectedPaths.',
    ],
  ])('I20: %s is refused with what to do', async (_name, text, sentence) => {
    expect(await problemsOf(text)).toContain(sentence);
  });
});

describe('a policy that an earlier version stored', () => {
  const stored = (name: string): unknown => JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));

  it('I20: the first one is read whole: what it lacks means what it meant then', async () => {
    const policy = readStoredPolicy(stored('policy-first.json'));
    const now = await policyOf(withRoute());
    const [was, is] = [policy.routes[0], now.routes[0]];
    if (was === undefined || is === undefined) throw new Error('no route');
    expect(Object.keys(was)).toEqual(expect.arrayContaining(Object.keys(is)));
    expect(was).toMatchObject({
      scope: is.scope,
      debounce: null,
      maxOpenPullRequests: null,
      repositoryFile: null,
    });
    const [source] = policy.sources;
    expect(Object.keys(source ?? {})).toEqual(
      expect.arrayContaining(['from', 'scan', 'redeliveries', 'app']),
    );
    expect(policy.routes[1]?.on[0]).toMatchObject({ startAt: null, exclude: [], pauseOnFailure: false });
    expect(policy.retentionDays).toEqual({ receipts: 90, payloads: 14, events: 90, history: 90 });
    expect(readStoredPolicy(JSON.parse(JSON.stringify(storedPolicy(policy))))).toEqual(policy);
  });

  it('I20: one of a newer format is refused in words, and nothing is done under it', () => {
    const newer = { ...(stored('policy-first.json') as object), format: 2 };
    expect(() => readStoredPolicy(newer)).toThrow(
      'the active policy was written by a newer Headgate (format 2, this one reads 1): upgrade this process',
    );
  });
});
