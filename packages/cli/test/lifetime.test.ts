import { describe, expect, it } from 'vitest';
import { Interrupted, Lifetime } from '../src/up/lifetime.js';

const ending = (name: string, ended: string[]) => ({
  name,
  withinMs: 1_000,
  end: async () => {
    ended.push(name);
  },
});

describe('the lifetime of a long-running command', () => {
  it('ends what was started in reverse, once, however often it is asked', async () => {
    const life = new Lifetime();
    const ended: string[] = [];
    for (const name of ['postgres', 'redis', 'services'])
      await life.step(async () => {}, ending(name, ended));
    await Promise.all([life.end(() => {}), life.end(() => {})]);
    await life.end(() => {});
    expect(ended).toEqual(['services', 'redis', 'postgres']);
  });

  it('an interrupt cuts the step short, waits for it, and ends what it made', async () => {
    const life = new Lifetime();
    const ended: string[] = [];
    let finish: () => void = () => {};
    const made = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const step = life.step(() => made, ending('postgres', ended));
    life.interrupt();
    await expect(step).rejects.toBeInstanceOf(Interrupted);
    const over = life.end(() => {});
    expect(ended).toEqual([]);
    finish();
    await over;
    expect(ended).toEqual(['postgres']);
  });

  it('begins no step after an interrupt', async () => {
    const life = new Lifetime();
    life.interrupt();
    let begun = false;
    const step = life.step(async () => {
      begun = true;
    });
    await expect(step).rejects.toBeInstanceOf(Interrupted);
    expect(begun).toBe(false);
  });

  it('goes on when a part fails to end or hangs, and says which', async () => {
    const life = new Lifetime();
    const ended: string[] = [];
    const failures: string[] = [];
    life.onEnd('first', 1_000, async () => {
      ended.push('first');
    });
    life.onEnd('hangs', 20, () => new Promise(() => {}));
    life.onEnd('fails', 1_000, () => Promise.reject(new Error('broken')));
    await life.end((name) => failures.push(name));
    expect(failures).toEqual(['fails', 'hangs']);
    expect(ended).toEqual(['first']);
  });

  it('a step that fails has left nothing to end', async () => {
    const life = new Lifetime();
    const ended: string[] = [];
    const step = life.step(() => Promise.reject(new Error('no')), ending('postgres', ended));
    await expect(step).rejects.toThrow('no');
    await life.end(() => {});
    expect(ended).toEqual([]);
  });
});
