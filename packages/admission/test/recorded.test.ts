/** What was received, read back from receipt and payload: the same signal, or the verdict that stood. */
import type { Policy, SourcePolicy } from '@headgate/domain';
import { systemIds } from '@headgate/domain';
import { cloudEventDelivery, messageDelivery, type SampleSubject } from '@headgate/sources';
import type { RecordedReceipt } from '@headgate/store';
import { aPolicy } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { recordedSubmission } from '../src/index.js';

const AT = new Date('2026-11-30T10:00:00Z');
const HEAD = 'c3'.repeat(20);
const subject: SampleSubject = {
  repository: { id: 42, fullName: 'acme/api', defaultBranch: 'main' },
  branch: 'main',
  headSha: HEAD,
  baseSha: null,
  at: AT,
};

function policyWith(kind: SourcePolicy['kind']): Policy {
  const policy = aPolicy();
  const [first] = policy.sources;
  if (first === undefined) throw new Error('a policy has a source');
  const repositories = [
    { fullName: 'acme/api', url: '/srv/api.git', defaultBranch: 'main', ciTrusted: false },
  ];
  return { ...policy, sources: [{ ...first, id: 'other', kind, repositories }] };
}

const recorded = (change: Partial<RecordedReceipt>): RecordedReceipt => ({
  id: systemIds.next('rcpt'),
  tenant: 'default',
  source: 'other',
  eventId: 'msg_1',
  type: 'webhook.deploy.failed',
  trigger: 'event',
  via: 'webhook',
  hookId: null,
  route: null,
  repository: 'acme/api',
  workKey: 'k',
  inputVersion: HEAD,
  outcome: 'accept',
  reasonCode: 'ADMITTED',
  rule: 'new-version',
  emittedAt: AT,
  receivedAt: AT,
  payload: null,
  ...change,
});

describe('a recorded signal', () => {
  it('I17: of Standard Webhooks is read again from its body', () => {
    const sent = messageDelivery({
      type: 'deploy.failed',
      subject,
      deliveryId: 'msg_1',
      sourceId: 'other',
      secret: 'whsec_c2VjcmV0',
      data: {},
    });
    if (sent === null) throw new Error('the secret signs');
    const payload = { mediaType: 'application/json', body: sent.body };
    expect(recordedSubmission(recorded({ payload }), policyWith('standard-webhooks'))?.signal).toMatchObject({
      type: 'webhook.deploy.failed',
      eventId: 'msg_1',
      inputVersion: HEAD,
      target: { kind: 'branch', ref: 'main' },
    });
  });

  it.each(['structured', 'binary'] as const)('I17: of CloudEvents in %s mode is read again', (mode) => {
    const { body, headers } = cloudEventDelivery({
      type: 'com.example.build.failed',
      mode,
      subject,
      deliveryId: 'build 7',
      eventSource: 'https://ci.example.com/nightly',
      token: '',
      data: {},
    });
    const one = recorded({
      type: 'cloudevents.com.example.build.failed',
      eventId: 'https://ci.example.com/nightly build 7',
      via: 'api',
      payload: { mediaType: headers['content-type'] ?? '', body },
    });
    expect(recordedSubmission(one, policyWith('cloudevents'))?.signal).toMatchObject({
      type: 'cloudevents.com.example.build.failed',
      eventId: 'https://ci.example.com/nightly build 7',
      inputVersion: HEAD,
      emittedAt: AT,
      via: 'api',
    });
  });

  it('whose source is gone or of another kind now, or whose body is no longer kept, cannot be', () => {
    const payload = { mediaType: 'application/json', body: Buffer.from('{"type":"deploy.failed"}') };
    expect(recordedSubmission(recorded({ payload }), policyWith('cloudevents'))).toBeNull();
    expect(
      recordedSubmission(recorded({ payload, source: 'gone' }), policyWith('standard-webhooks')),
    ).toBeNull();
    expect(recordedSubmission(recorded({}), policyWith('standard-webhooks'))).toBeNull();
  });

  it('I17: of our own that was settled before there was work keeps what it was told', () => {
    const tick = { trigger: 'schedule', type: 'schedule.tick', via: 'timer', route: 'fix' } as const;
    const missed = {
      workKey: null,
      outcome: 'no-work',
      reasonCode: 'MISSED_CATCHUP',
      rule: 'schedule.catch-up',
    } as const;
    const policy = policyWith('git');
    expect(recordedSubmission(recorded({ ...tick, ...missed }), policy)?.verdict).toMatchObject({
      reasonCode: 'MISSED_CATCHUP',
      rule: 'schedule.catch-up',
    });
    expect(recordedSubmission(recorded(tick), policy)?.verdict).toBeNull();
  });
});
