import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { describe, expect, it } from 'vitest';
import { ATTR, HEADGATE_ATTR } from '../src/index.js';

describe('attribute names', () => {
  it('Q32: are those of the OpenTelemetry conventions', () => {
    const known = new Set(Object.values(conventions));
    for (const name of Object.values(ATTR)) expect(known, name).toContain(name);
  });

  it('Q32: cover the way from the task to the tool call', () => {
    const names = [...Object.values(ATTR), ...Object.values(HEADGATE_ATTR)];
    for (const part of ['task.id', 'run.id', 'attempt', 'lease.id', 'worker.id', 'sandbox.id', 'tool']) {
      expect(
        names.some((name) => name.includes(part)),
        part,
      ).toBe(true);
    }
  });

  it('keeps our own names out of the conventions’ name spaces', () => {
    for (const name of Object.values(HEADGATE_ATTR)) expect(name).toMatch(/^headgate\./);
  });
});
