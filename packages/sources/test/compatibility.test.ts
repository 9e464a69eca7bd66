/**
 * I20: deliveries as they were recorded, with the answer that was right when they were. Today's code must give the same
 * identity: a key or a version that changes would do known work again.
 *
 * A new recording is added with its answer; a recorded answer is never changed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Signal } from '@headgate/domain';
import { describe, expect, it } from 'vitest';
import { identify, judgeSignal, moduleOf, readCloudEvent, signalOfCloudEvent } from '../src/index.js';
import { aSource } from './sources.js';

interface Recording {
  readonly kind: 'github' | 'standard-webhooks' | 'cloudevents';
  readonly headers: Record<string, string>;
  readonly body: unknown;
  readonly answer: Answer;
}

interface Answer {
  readonly eventId: string;
  readonly type: string;
  readonly verdict: string | null;
  readonly workKey: string | null;
  readonly inputVersion: string | null;
  readonly sourceAt: string | null;
  readonly parentVersions: readonly string[];
}

const FOLDER = new URL('./recorded/', import.meta.url);
const RECEIVED_AT = new Date('2026-11-30T10:00:00Z');
const names = readdirSync(FOLDER);

function signalOf({ kind, headers, body }: Recording): Signal {
  const source = aSource({ kind });
  const rawBody = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const asked = { source, receivedAt: RECEIVED_AT, traceparent: null };
  const { hook } = moduleOf(source);
  if (hook !== null) {
    const reading = hook.read({ ...asked, rawBody, headers });
    if (reading.kind !== 'signal') throw new Error(reading.detail);
    return reading.signal;
  }
  const reading = readCloudEvent(rawBody, headers);
  if (reading.kind !== 'event') throw new Error(reading.detail);
  return signalOfCloudEvent(reading.event, { ...asked, actor: { kind: 'token', id: '1', name: 'ci' } });
}

function answerOf(recording: Recording): Answer {
  const signal = signalOf(recording);
  const identified = identify(signal);
  return {
    eventId: signal.eventId,
    type: signal.type,
    verdict: judgeSignal(aSource({ kind: recording.kind }), signal)?.reasonCode ?? null,
    workKey: identified.kind === 'work' ? identified.work.workKey : null,
    inputVersion: identified.kind === 'work' ? identified.work.inputVersion : null,
    sourceAt: signal.sourceAt?.toISOString() ?? null,
    parentVersions: signal.parentVersions,
  };
}

describe('recorded deliveries', () => {
  it('I20: are here for every kind that is told, with unknown fields and unknown types among them', () => {
    expect(names.length).toBeGreaterThanOrEqual(10);
  });

  it.each(names)('I20: %s keeps its identity', (name) => {
    const recording: Recording = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
    expect(answerOf(recording)).toEqual(recording.answer);
  });
});
