import type { Clock } from '@headgate/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HealthMonitor } from '../src/health-monitor.js';

/** A clock whose two hands are moved apart: the wall clock may jump, the monotonic one may not. */
function aClock() {
  let wallMs = Date.parse('2027-03-01T12:00:00Z');
  let monotonicMs = 1000;
  const clock: Clock = { now: () => new Date(wallMs), monotonicMs: () => monotonicMs };
  return {
    clock,
    pass(ms: number) {
      wallMs += ms;
      monotonicMs += ms;
    },
    jumpWall(ms: number) {
      wallMs += ms;
    },
  };
}

function aMonitor(silentQueues: () => readonly string[] = () => []) {
  const time = aClock();
  const changes: string[] = [];
  const monitor = new HealthMonitor({
    clock: time.clock,
    unhealthyAfterMs: 5000,
    silentQueues,
    onChange: (health) => changes.push(health.state),
  });
  return { ...time, monitor, changes, state: () => monitor.evaluate().state };
}

describe('health of hints', () => {
  it('is unhealthy until Redis has answered once', () => {
    const { monitor, state, pass, changes } = aMonitor();
    expect(state()).toBe('unhealthy');
    monitor.pingSent(0);
    pass(3);
    expect(state()).toBe('unhealthy');
    monitor.pingAnswered(0);
    expect(monitor.evaluate()).toMatchObject({ state: 'healthy', lastPingMs: 3 });
    expect(changes).toEqual(['healthy']);
  });

  it('lasts 5 s after the last ping or hint, by the monotonic clock whatever the wall clock does', () => {
    const { monitor, state, pass, jumpWall } = aMonitor();
    monitor.hintReceived();
    pass(5000);
    jumpWall(3_600_000);
    expect(state()).toBe('healthy');
    pass(1);
    jumpWall(-7_200_000);
    expect(state()).toBe('unhealthy');
    monitor.pingSent(1);
    monitor.pingAnswered(1);
    expect(state()).toBe('healthy');
  });

  it('is not kept up by answers to pings that were never sent', () => {
    const { monitor, state } = aMonitor();
    monitor.pingAnswered(17);
    expect(state()).toBe('unhealthy');
  });

  it('is lost when a consumer loop gets no answer, though pings are answered', () => {
    let silent: readonly string[] = [];
    const { monitor, state } = aMonitor(() => silent);
    monitor.hintReceived();
    expect(state()).toBe('healthy');
    silent = ['default'];
    expect(monitor.evaluate()).toMatchObject({
      state: 'unhealthy',
      reason: 'No answer from Redis for the queues default',
    });
  });

  it('reports each change once, and healthy exactly when the last contact is at most 5 s old', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 9000 }) }),
      fc.record({ kind: fc.constant('hint' as const) }),
      fc.record({ kind: fc.constant('ping' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const { monitor, pass, changes, state } = aMonitor();
        let sinceContactMs = Number.POSITIVE_INFINITY;
        let sequence = 0;
        for (const action of steps) {
          if (action.kind === 'pass') {
            pass(action.ms);
            sinceContactMs += action.ms;
          } else if (action.kind === 'hint') {
            monitor.hintReceived();
            sinceContactMs = 0;
          } else {
            monitor.pingSent(sequence);
            monitor.pingAnswered(sequence++);
            sinceContactMs = 0;
          }
          expect(state()).toBe(sinceContactMs <= 5000 ? 'healthy' : 'unhealthy');
        }
        for (const [index, change] of changes.entries()) {
          expect(change).toBe(index % 2 === 0 ? 'healthy' : 'unhealthy');
        }
      }),
    );
  });
});
