/** The page's connection against a stream that the test holds in its hands. */
import type { StreamChange } from '@headgate/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LiveConnection, type LiveState } from '../src/live/connection.js';

class HeldSource extends EventTarget {
  static readonly CLOSED = 2;
  static readonly opened: HeldSource[] = [];
  readyState = 0;
  constructor(readonly url: string) {
    super();
    HeldSource.opened.push(this);
  }
  close(): void {
    this.readyState = HeldSource.CLOSED;
  }
  say(name: string, data: unknown = {}): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
  }
  beat(readAt: string | null): void {
    this.say('beat', { readAt });
  }
}

class HeldPage extends EventTarget {
  visibilityState = 'visible';
  become(state: 'visible' | 'hidden'): void {
    this.visibilityState = state;
    this.dispatchEvent(new Event('visibilitychange'));
  }
}

const at = (seconds: number): string =>
  new Date(Date.parse('2026-01-31T13:50:00.000Z') + seconds * 1_000).toISOString();
const aChange = (runId: string): StreamChange => ({
  eventId: `evt_${runId}`,
  at: at(0),
  type: 'run.moved',
  runId,
  taskId: null,
  from: null,
  to: null,
  publicStatus: null,
  reasonCode: null,
  attempt: null,
});

describe('the connection of a page to the stream', () => {
  let page: HeldPage;
  let states: LiveState[];
  let batches: (readonly StreamChange[])[];
  let reloads: number;
  let refusals: number;
  let connection: LiveConnection;
  const source = (): HeldSource => {
    const newest = HeldSource.opened.at(-1);
    if (newest === undefined) throw new Error('nothing was opened');
    return newest;
  };

  beforeEach(() => {
    vi.useFakeTimers();
    page = new HeldPage();
    HeldSource.opened.length = 0;
    vi.stubGlobal('EventSource', HeldSource);
    vi.stubGlobal('document', page);
    states = [];
    batches = [];
    reloads = 0;
    refusals = 0;
    connection = new LiveConnection({
      onState: (state) => states.push(state),
      onChanges: (changes) => batches.push(changes),
      onReload: () => {
        reloads += 1;
      },
      onRefused: () => {
        refusals += 1;
      },
    });
    connection.start();
    source().say('open');
    source().beat(at(0));
  });
  afterEach(() => {
    connection.stop();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it('hands a burst of changes on at once', () => {
    for (const runId of ['run_1', 'run_2', 'run_3']) source().say('change', aChange(runId));
    expect(batches).toEqual([]);
    vi.advanceTimersByTime(300);
    expect(batches.map((batch) => batch.map((change) => change.runId))).toEqual([
      ['run_1', 'run_2', 'run_3'],
    ]);
  });

  it('says since when a lost page is old, the same until it hears again', () => {
    source().dispatchEvent(new Event('error'));
    source().dispatchEvent(new Event('error'));
    expect(states.slice(-2)).toEqual([
      { kind: 'lost', since: at(0) },
      { kind: 'lost', since: at(0) },
    ]);
    // The browser connects again by itself, and says what it saw last: nothing has to be read again.
    source().say('open');
    source().beat(at(9));
    expect(states.at(-1)).toEqual({ kind: 'live' });
    expect(reloads).toBe(0);
  });

  it('tries anew where the browser gave up, and reads everything again', () => {
    const first = source();
    first.close();
    first.dispatchEvent(new Event('error'));
    expect(refusals).toBe(1);
    vi.advanceTimersByTime(3_000);
    expect(HeldSource.opened.length).toBe(2);
    expect(states.at(-1)).toEqual({ kind: 'lost', since: at(0) });
    source().say('open');
    source().beat(at(9));
    expect(reloads).toBe(1);
    expect(states.at(-1)).toEqual({ kind: 'live' });
  });

  it('gives a connection up that says nothing any more', () => {
    const first = source();
    vi.advanceTimersByTime(19_000);
    expect(HeldSource.opened.length).toBe(1);
    vi.advanceTimersByTime(2_000);
    expect(first.readyState).toBe(HeldSource.CLOSED);
    expect(HeldSource.opened.length).toBe(2);
    expect(states.at(-1)).toEqual({ kind: 'lost', since: at(0) });
  });

  it('says that the database cannot be read when what it says stands still, whatever the clocks show', () => {
    for (let n = 1; n <= 2; n += 1) {
      vi.advanceTimersByTime(5_000);
      source().beat(at(0));
      expect(states.at(-1)).toEqual({ kind: 'live' });
    }
    vi.advanceTimersByTime(5_000);
    source().beat(at(0));
    expect(states.at(-1)).toEqual({ kind: 'stale', since: at(0) });
    source().beat(at(600));
    expect(states.at(-1)).toEqual({ kind: 'live' });
  });

  it('lets go of the connection while it is hidden for long, and reads everything again when it is looked at', () => {
    const first = source();
    page.become('hidden');
    for (let n = 0; n < 13; n += 1) {
      vi.advanceTimersByTime(5_000);
      if (first.readyState !== HeldSource.CLOSED) first.beat(at(n));
    }
    expect(first.readyState).toBe(HeldSource.CLOSED);
    vi.advanceTimersByTime(600_000);
    expect(HeldSource.opened.length).toBe(1);
    page.become('visible');
    expect(HeldSource.opened.length).toBe(2);
    source().say('open');
    expect(reloads).toBe(1);
  });

  it('keeps the connection while it is hidden for a moment', () => {
    page.become('hidden');
    vi.advanceTimersByTime(10_000);
    page.become('visible');
    vi.advanceTimersByTime(5_000);
    expect(HeldSource.opened.length).toBe(1);
    expect(reloads).toBe(0);
  });
});
