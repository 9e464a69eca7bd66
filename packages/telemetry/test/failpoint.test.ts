import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { parseFailPointAction, parseFailPoints } from '../src/failpoint-rule.js';
import {
  armFailPoint,
  disarmAllFailPoints,
  FAIL_POINTS,
  FailPointError,
  failPoint,
  waitForSignal,
} from '../src/index.js';

afterEach(disarmAllFailPoints);

describe('fail-points in a process', () => {
  it('hold keeps every pass until it is released, and says when it was reached', async () => {
    const armed = armFailPoint('worker.sealed', 'hold');
    const order: string[] = [];
    const passing = failPoint('worker.sealed').then(() => order.push('passed'));
    await armed.reached;
    order.push('reached');
    armed.release();
    await passing;
    expect(order).toEqual(['reached', 'passed']);
    expect(armed.passes()).toBe(1);
    await failPoint('worker.sealed');
    expect(armed.passes()).toBe(2);
  });

  it('disarming lets go what is held, and the point is free again', async () => {
    const armed = armFailPoint('worker.sealed', 'hold');
    const passing = failPoint('worker.sealed');
    await armed.reached;
    armed.disarm();
    await passing;
    await failPoint('worker.sealed');
    expect(armed.passes()).toBe(1);
  });

  it('throws an error that names the point, on the n-th pass only', async () => {
    armFailPoint('effects.called', 'throw@2');
    await failPoint('effects.called');
    const failure = await failPoint('effects.called').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FailPointError);
    expect(failure).toMatchObject({ failPoint: 'effects.called', code: 'HEADGATE_FAILPOINT' });
    await failPoint('effects.called');
  });

  it('arms one point without touching the others', async () => {
    armFailPoint('effects.called', 'throw');
    await failPoint('effects.confirmed');
    await expect(failPoint('effects.called')).rejects.toThrow('effects.called');
  });

  it('delay waits its time', async () => {
    armFailPoint('dispatch.marked', 'delay:30');
    const start = performance.now();
    await failPoint('dispatch.marked');
    expect(performance.now() - start).toBeGreaterThanOrEqual(29);
  });

  it('hold:<file> waits for the file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-failpoint-'));
    try {
      const file = join(folder, 'go@now');
      const armed = armFailPoint('dispatch.marked', `hold:${file}`);
      let passed = false;
      const passing = failPoint('dispatch.marked').then(() => {
        passed = true;
      });
      await armed.reached;
      expect(passed).toBe(false);
      writeFileSync(file, '');
      await passing;
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('announces each action by a test signal', async () => {
    const signal = waitForSignal('failpoint.reached');
    armFailPoint('worker.judged', 'delay:0@2');
    await failPoint('worker.judged');
    await failPoint('worker.judged');
    expect(await signal).toEqual({ failPoint: 'worker.judged', action: 'delay', pass: 2 });
  });
});

describe('the language of HEADGATE_FAILPOINTS', () => {
  it('reads several points, each with its action and pass', () => {
    const parsed = parseFailPoints(' dispatch.marked = kill@3 ; effects.called=hold:/tmp/go;', FAIL_POINTS);
    expect(parsed).toEqual({
      ok: true,
      rules: [
        { name: 'dispatch.marked', rule: { kind: 'kill', onlyPass: 3 } },
        { name: 'effects.called', rule: { kind: 'hold', file: '/tmp/go', onlyPass: null } },
      ],
    });
  });

  it.each([
    ['worker.claim.comitted=kill', /"worker.claim.comitted" is no fail-point/],
    ['worker.sealed', /has no action/],
    ['worker.sealed=explode', /has no action/],
    ['worker.sealed=kill@0', /has no action/],
    ['worker.sealed=hold', /hold for ever/],
  ])('refuses %s', (text, problem) => {
    const parsed = parseFailPoints(text, FAIL_POINTS);
    expect(parsed.ok ? '' : parsed.problem).toMatch(problem);
  });

  it('reads back any action it can be given', () => {
    const action = fc.oneof(
      fc.constantFrom('kill', 'stop', 'throw', 'hold'),
      fc.nat(10_000).map((delayMs) => `delay:${delayMs}`),
      fc.stringMatching(/^[a-z/.]{1,20}$/).map((file) => `hold:${file}`),
    );
    const pass = fc.option(fc.integer({ min: 1, max: 999 }), { nil: null });
    fc.assert(
      fc.property(action, pass, (text, onlyPass) => {
        const rule = parseFailPointAction(onlyPass === null ? text : `${text}@${onlyPass}`);
        return rule !== null && rule.onlyPass === onlyPass && text.startsWith(rule.kind);
      }),
    );
  });

  it('never throws, whatever it is given', () => {
    fc.assert(fc.property(fc.string(), (text) => typeof parseFailPoints(text, FAIL_POINTS).ok === 'boolean'));
  });

  it('names each point once', () => {
    expect(new Set(FAIL_POINTS).size).toBe(FAIL_POINTS.length);
  });
});
