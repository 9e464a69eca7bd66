import type { AgentNetwork, Capabilities, RunId, TaskId, WorkerId } from '@headgate/domain';
import type { HeadReading } from '@headgate/sources';
import type { DispatchedRun, LiveWorker } from '@headgate/store';
import { anAgent, aPolicy, aRoute, aRunSpec, aSource, aTenantPolicy } from '@headgate/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { modeNow, permission } from '../src/hints/permission.js';
import { canOthersRun, firstLook, verdictOf, verdictOnAsker } from '../src/hints/verdict.js';
import { needsIsolation, queuesToJoin, requiredBy } from '../src/queues.js';

const OLD = 'a'.repeat(40);
const NEW = 'b'.repeat(40);
const OFFERED: Capabilities = { exampleAgent: true, agentRuns: false, node: '20.19.0' };
const WAIT = { firstMs: 10_000, capMs: 600_000, times: 0 };
const policy = aPolicy({ routes: [aRoute({ verify: [] })] });

const aRun = (change: Partial<DispatchedRun> = {}): DispatchedRun => ({
  runId: 'run' as RunId,
  dispatchNo: 1,
  tenantId: 1,
  taskId: 'task' as TaskId,
  queueId: 1,
  inputVersion: OLD,
  source: 'acme',
  spec: aRunSpec({ verify: [] }),
  sealed: false,
  traceparent: null,
  sourceAt: new Date('2026-01-01T00:00:00Z'),
  parentVersions: [],
  latestVersion: OLD,
  latestSourceAt: new Date('2026-01-01T00:00:00Z'),
  latestParents: [],
  ...change,
});
const head = (sha: string): HeadReading => ({ kind: 'head', sha, observedAt: new Date() });

describe('the verdict before a lease', () => {
  it('I6: sources that disagree are waited for, and no longer than their time', () => {
    const reading: HeadReading = { kind: 'disagrees', detail: 'One says a, the other b.' };
    expect(verdictOf(aRun(), reading, { ...WAIT, times: 2, most: 10 })).toMatchObject({
      kind: 'defer',
      reasonCode: 'SOURCE_DISAGREES',
      delayMs: 40_000,
    });
    expect(verdictOf(aRun(), reading, { ...WAIT, times: 10, most: 10 })).toMatchObject({
      kind: 'end',
      to: 'NO_WORK',
      reasonCode: 'SOURCE_DISAGREES',
    });
  });

  it('I7: who may not write any more ends it; a source that cannot tell lets it wait', () => {
    expect(verdictOnAsker({ kind: 'allowed' }, WAIT)).toBeNull();
    expect(verdictOnAsker({ kind: 'not-asked' }, WAIT)).toBeNull();
    expect(verdictOnAsker({ kind: 'not-allowed', detail: 'ada has the role read.' }, WAIT)).toMatchObject({
      kind: 'end',
      to: 'POLICY_DENIED',
      reasonCode: 'ACTOR_NOT_ALLOWED',
    });
    expect(verdictOnAsker({ kind: 'unavailable', detail: 'timeout' }, WAIT)).toMatchObject({
      kind: 'defer',
      reasonCode: 'SOURCE_UNAVAILABLE',
    });
  });

  it('I6: starts a run whose source stands where the signal said', () => {
    expect(verdictOf(aRun(), head(OLD), WAIT)).toEqual({ kind: 'fresh' });
  });

  it('I6: ends a run whose source has moved on as STALE_INPUT', () => {
    expect(verdictOf(aRun(), head(NEW), WAIT)).toMatchObject({
      kind: 'end',
      to: 'NO_WORK',
      reasonCode: 'STALE_INPUT',
    });
  });

  it('ends it as SUPERSEDED where the task knows that newer version', () => {
    const run = aRun({ latestVersion: NEW, latestSourceAt: new Date('2026-01-02T00:00:00Z') });
    expect(verdictOf(run, head(NEW), WAIT)).toMatchObject({ to: 'SUPERSEDED', reasonCode: 'SUPERSEDED' });
  });

  it('does not say SUPERSEDED where the order of the two versions is not known', () => {
    const run = aRun({ latestVersion: NEW, latestSourceAt: null });
    expect(verdictOf(run, head(NEW), WAIT)).toMatchObject({ to: 'NO_WORK', reasonCode: 'STALE_INPUT' });
  });

  it('leaves the moved head of a sealed run to compare-and-set, and ends one whose target is closed', () => {
    const run = aRun({ sealed: true });
    expect(verdictOf(run, head(NEW), WAIT)).toEqual({ kind: 'fresh' });
    expect(verdictOf(run, { kind: 'closed', reason: 'merged' }, WAIT)).toMatchObject({
      to: 'NO_WORK',
      reasonCode: 'TARGET_CLOSED',
    });
    expect(verdictOf(run, { kind: 'gone' }, WAIT)).toMatchObject({ reasonCode: 'TARGET_CLOSED' });
  });

  it('defers a run whose source cannot be read, longer each time and never longer than the cap', () => {
    const unavailable: HeadReading = { kind: 'unavailable', detail: 'timeout' };
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 }), (times) => {
        const once = verdictOf(aRun(), unavailable, { ...WAIT, times });
        const next = verdictOf(aRun(), unavailable, { ...WAIT, times: times + 1 });
        if (once.kind !== 'defer' || next.kind !== 'defer') throw new Error('it was not deferred');
        expect(once.reasonCode).toBe('SOURCE_UNAVAILABLE');
        expect(next.delayMs).toBeGreaterThanOrEqual(once.delayMs);
        expect(next.delayMs).toBeLessThanOrEqual(WAIT.capMs);
      }),
    );
  });
});

describe('what the policy in force says of an admitted run', () => {
  it.each([
    ['its route is gone', aPolicy({ routes: [] }), 'POLICY_DENIED'],
    ['its agent is gone', aPolicy({ agents: [] }), 'POLICY_DENIED'],
    ['its repository is gone', aPolicy({ sources: [aSource({ repositories: [] })] }), 'POLICY_DENIED'],
    [
      'its tenant is suspended',
      aPolicy({ tenants: [aTenantPolicy({ suspended: true })] }),
      'TENANT_SUSPENDED',
    ],
    ['its tenant is gone', aPolicy({ tenants: [] }), 'POLICY_DENIED'],
    [
      'its source is another tenant’s now',
      aPolicy({ sources: [aSource({ tenant: 'other' })] }),
      'POLICY_DENIED',
    ],
  ])('Q7: denies it when %s', (_what, changed, reasonCode) => {
    const look = firstLook(aRun(), changed, OFFERED);
    expect(look).toMatchObject({
      kind: 'verdict',
      verdict: { kind: 'end', to: 'POLICY_DENIED', reasonCode },
    });
  });

  it('asks the source that the run came from, where several have the repository', () => {
    const mirror = aSource({ id: 'mirror' });
    const both = aPolicy({ sources: [mirror, aSource()], routes: [aRoute({ verify: [] })] });
    expect(permission(aRunSpec(), 'acme', both)).toMatchObject({ kind: 'allowed', source: { id: 'acme' } });
    expect(permission(aRunSpec(), 'api', both)).toMatchObject({ kind: 'allowed', source: { id: 'mirror' } });
  });

  it('a route that became stricter since admission holds for what was admitted before', () => {
    expect(modeNow(aRunSpec({ mode: 'act' }), aRoute({ mode: 'propose' }))).toBe('propose');
    expect(modeNow(aRunSpec({ mode: 'propose' }), aRoute({ mode: 'act' }))).toBe('propose');
    expect(modeNow(aRunSpec({ mode: 'act' }), aRoute({ mode: 'observe' }))).toBe('observe');
    expect(modeNow(aRunSpec({ mode: 'act' }), aRoute({ mode: 'act' }))).toBe('act');
  });
});

describe('what a worker can run', () => {
  it('Q20: a run that requires what this worker lacks is not its own', () => {
    const run = aRun({ spec: aRunSpec({ verify: [], requires: { jdk: '>=21' } }) });
    expect(firstLook(run, policy, OFFERED)).toMatchObject({
      kind: 'incapable',
      reasonCode: 'NO_CAPABLE_WORKER',
      detail: 'jdk >=21 (not offered)',
    });
  });

  it('NO_ISOLATION: only the example agent may run where nothing isolates', () => {
    const run = aRun({ spec: aRunSpec({ verify: [], agent: anAgent({ trustedExample: false }) }) });
    expect(firstLook(run, policy, OFFERED)).toMatchObject({ kind: 'incapable', reasonCode: 'NO_ISOLATION' });
    expect(
      firstLook(run, policy, { ...OFFERED, isolationRemedy: 'apt-get install bubblewrap' }),
    ).toMatchObject({
      detail: 'To mend it on the worker that looked: apt-get install bubblewrap',
    });
    expect(firstLook(run, policy, { ...OFFERED, agentRuns: true })).toMatchObject({ kind: 'read' });
  });

  it('an agent with a network list needs a worker that can keep it to that list', () => {
    const rule = { host: 'example.com', port: 443, allowPrivate: false };
    const withNetwork = (network: AgentNetwork) =>
      requiredBy(aRunSpec({ verify: [], setup: [], agent: anAgent({ network }) }));
    expect(withNetwork({ setup: [], agent: [rule] })).toMatchObject({ networkList: true });
    expect(withNetwork({ setup: [rule], agent: [] })).not.toHaveProperty('networkList');
  });

  it('commands of the configuration are part of the example only in a repository of this machine', () => {
    const repository = { externalId: '1', fullName: 'a/b', url: '/srv/a.git', defaultBranch: 'main' };
    const remote = { ...repository, url: 'https://forge.example/a.git' };
    expect(needsIsolation(aRunSpec({ verify: ['npm test'], repository }))).toBe(false);
    expect(needsIsolation(aRunSpec({ verify: ['npm test'], repository: remote }))).toBe(true);
    expect(needsIsolation(aRunSpec({ verify: [], repository: remote }))).toBe(false);
  });

  it('leaves it to another live worker of that queue that can, and to nobody else', () => {
    const run = { queueId: 1, spec: aRunSpec({ verify: [], requires: { jdk: '>=21' } }) };
    const other = (change: Partial<LiveWorker>): LiveWorker => ({
      id: 'other' as WorkerId,
      name: 'other',
      state: 'READY',
      capabilities: { jdk: '21.0.2' },
      queueIds: [1],
      slots: 1,
      ...change,
    });
    expect(canOthersRun(run, [other({})], 'self')).toBe(true);
    expect(canOthersRun(run, [other({ queueIds: [2] })], 'self')).toBe(false);
    expect(canOthersRun(run, [other({ capabilities: { jdk: '17' } })], 'self')).toBe(false);
    expect(canOthersRun(run, [other({})], 'other')).toBe(false);
  });

  it('Q21: joins the queues whose profile it offers, and says what the others lack', () => {
    const risk = ['LOW'] as const;
    const several = aPolicy({
      queues: [
        { id: 'jvm', profile: { jdk: '>=21' }, risk: [...risk], tenants: [] },
        { id: 'node', profile: { node: '>=20' }, risk: [...risk], tenants: [] },
        { id: 'default', profile: {}, risk: [...risk], tenants: [] },
      ],
    });
    expect(queuesToJoin(several, OFFERED, null)).toEqual({
      joined: ['node', 'default'],
      missing: [{ queue: 'jvm', lacks: 'jdk >=21 (not offered)' }],
    });
    expect(queuesToJoin(several, OFFERED, ['node']).joined).toEqual(['node']);
  });
});
