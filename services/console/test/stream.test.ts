import { formatId, systemIds } from '@headgate/domain';
import type { StreamChange } from '@headgate/sdk';
import { type Pool, runEvents } from '@headgate/store';
import { waitForSignal } from '@headgate/telemetry';
import {
  claimRun,
  eventually,
  faultProxy,
  finishRun,
  seedRun,
  testStore,
  withClient,
} from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole, type TestConsole } from './a-console.js';
import { foreignRun } from './seeds.js';

interface Frame {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

/** A client of the stream as a browser is one. `read: false` takes nothing. */
async function aClient(
  test: TestConsole,
  options: { token?: string; lastId?: string; query?: string; isReading?: boolean } = {},
) {
  const abort = new AbortController();
  const response = await fetch(`${test.url}/v1/stream${options.query ?? ''}`, {
    signal: abort.signal,
    headers: {
      authorization: `Bearer ${options.token ?? test.tokens.admin}`,
      ...(options.lastId === undefined ? {} : { 'last-event-id': options.lastId }),
    },
  });
  if (response.body === null || !response.ok) throw new Error(`no stream: ${response.status}`);
  const frames: Frame[] = [];
  let hasEnded = false;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const read = async (): Promise<void> => {
    let text = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      text += value;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      frames.push(...blocks.flatMap(frameOf));
    }
    hasEnded = true;
  };
  const begin = (): void => {
    read().catch(() => {
      hasEnded = true;
    });
  };
  if (options.isReading ?? true) begin();
  const changes = (): StreamChange[] =>
    frames.filter((frame) => frame.event === 'change').map((frame) => frame.data as StreamChange);
  return {
    frames,
    changes,
    runIds: () => changes().map((change) => change.runId),
    begin,
    live: () =>
      eventually(() => frames.some((frame) => frame.event === 'beat'), { what: 'the client is live' }),
    lastId: () => frames.findLast((frame) => frame.id !== null)?.id ?? '',
    hasEnded: () => hasEnded,
    close: () => abort.abort(),
  };
}

function frameOf(block: string): Frame[] {
  const fields = new Map(
    block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]),
  );
  const event = fields.get('event');
  if (event === undefined) return [];
  return [{ event, id: fields.get('id') ?? null, data: JSON.parse(fields.get('data') ?? 'null') }];
}

const WITHIN = { deadlineMs: 30_000 };
const id = (run: { runId: Parameters<typeof formatId<'run'>>[1] }): string => formatId('run', run.runId);

const tell = (db: { service: Pool }, tenantId: number, type: string) =>
  db.service.transaction((c) =>
    runEvents.append(c, [
      { tenantId, runId: systemIds.next('run'), taskId: null, type, reasonCode: null, actor: null },
    ]),
  );

describe('GET /v1/stream', () => {
  it('tells what happens to a run as it is committed, in order, with a place to go on from', async () => {
    const test = await aConsole();
    const client = await aClient(test);
    await client.live();
    const run = await seedRun(test.store, { tenant: test.tenant });
    const lease = await claimRun(test.store, run);
    await finishRun(test.store, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    await eventually(() => client.changes().some((change) => change.to === 'SUCCEEDED'), {
      what: 'the end of the run is told',
      ...WITHIN,
    });
    const steps = client.changes().filter((change) => change.runId === id(run));
    // Born admitted and queued in one transaction: two events.
    expect(steps.map((change) => change.to).filter((to) => to !== null)).toEqual([
      'QUEUED',
      'QUEUED',
      'CLAIMED',
      'SUCCEEDED',
    ]);
    expect(steps.at(-1)).toMatchObject({ publicStatus: 'succeeded', reasonCode: 'SUCCEEDED' });
    const ids = client.frames.map((frame) => frame.id);
    expect(ids.every((one) => one !== null)).toBe(true);
  });

  it('loses no event of a transaction that commits late, though younger ids were committed before', async () => {
    const test = await aConsole();
    const client = await aClient(test);
    await client.live();
    const gates = { open: () => {}, begun: () => {} };
    const opened = new Promise<void>((resolve) => {
      gates.open = resolve;
    });
    const begun = new Promise<void>((resolve) => {
      gates.begun = resolve;
    });
    const late = test.store.service.transaction(async (c) => {
      const event = { tenantId: test.tenant.id, runId: null, taskId: null, reasonCode: null, actor: null };
      await runEvents.append(c, [{ ...event, type: 'test.late' }]);
      gates.begun();
      await opened;
    });
    await begun;
    await tell(test.store, test.tenant.id, 'test.early');
    // The early one is committed, and told to nobody while an older transaction may still add to what stands before it.
    const beats = () => client.frames.filter((frame) => frame.event === 'beat').length;
    const beatsBefore = beats();
    await eventually(() => beats() > beatsBefore, { what: 'the stream was read meanwhile', ...WITHIN });
    expect(client.changes()).toEqual([]);
    gates.open();
    await late;
    await eventually(() => client.changes().length === 2, { what: 'both are told', ...WITHIN });
    expect(client.changes().map((change) => change.type)).toEqual(['test.late', 'test.early']);
  });

  it('goes on where a client left, with nothing lost and nothing twice', async () => {
    const test = await aConsole();
    const first = await aClient(test);
    await first.live();
    const before = await seedRun(test.store, { tenant: test.tenant });
    await eventually(() => first.runIds().includes(id(before)), { what: 'the first run is told', ...WITHIN });
    const lastId = first.lastId();
    first.close();
    const meanwhile = await seedRun(test.store, { tenant: test.tenant });
    const second = await aClient(test, { lastId });
    await second.live();
    const after = await seedRun(test.store, { tenant: test.tenant });
    await eventually(() => second.runIds().includes(id(after)), { what: 'the third run is told', ...WITHIN });
    const eventIds = second.changes().map((change) => change.eventId);
    expect(new Set(eventIds).size).toBe(eventIds.length);
    expect(second.runIds()).toContain(id(meanwhile));
    expect(second.runIds()).not.toContain(id(before));
  });

  it('tells a client to reload whose place is unknown, of another life of the data, or too far behind', async () => {
    const test = await aConsole();
    const first = await aClient(test);
    await first.live();
    const [incarnation = '', ...rest] = first.lastId().split('.');
    const other = [incarnation.replace(/^./, (digit) => (digit === '0' ? '1' : '0')), ...rest].join('.');
    await test.store.service.transaction((c) =>
      c.query(
        `insert into headgate.run_event (id, tenant_id, type)
         select headgate.uuid7(), $1, 'test.many' from generate_series(1, 1001)`,
        [test.tenant.id],
      ),
    );
    await eventually(() => first.changes().length === 1_001, { what: 'all are told', ...WITHIN });
    const place = first.frames.find((frame) => frame.event === 'beat')?.id ?? '';
    for (const [lastId, why] of [
      ['nonsense', 'too-old'],
      [other, 'restored'],
      [place, 'too-old'],
    ] as const) {
      const client = await aClient(test, { lastId });
      await client.live();
      expect(client.frames[0], lastId).toMatchObject({ event: 'reload', data: { why } });
      expect(client.changes(), lastId).toEqual([]);
      client.close();
    }
  });

  it('shows a tenant’s token its own tenant’s events only, also of those it missed', async () => {
    const test = await aConsole();
    const all = await aClient(test);
    await all.live();
    const lastId = all.lastId();
    const own = await aClient(test, { token: test.tokens.tenant });
    await own.live();
    const foreign = await foreignRun(test);
    const ours = await seedRun(test.store, { tenant: test.tenant });
    await eventually(() => all.runIds().includes(id(ours)) && all.runIds().includes(id(foreign)), {
      what: 'a token of no tenant sees both',
      ...WITHIN,
    });
    await eventually(() => own.runIds().includes(id(ours)), { what: 'the tenant sees its own', ...WITHIN });
    expect(own.runIds()).not.toContain(id(foreign));
    const again = await aClient(test, { token: test.tokens.tenant, lastId });
    await again.live();
    expect(again.runIds()).toContain(id(ours));
    expect(again.runIds()).not.toContain(id(foreign));
    const one = await aClient(test, { lastId, query: `?runId=${id(ours)}` });
    await one.live();
    expect(new Set(one.runIds())).toEqual(new Set([id(ours)]));
  });

  it('keeps only so much for a client that does not take it, and tells it to reload when it does', async () => {
    const test = await aConsole();
    const live = waitForSignal('console.stream.live');
    const slow = await aClient(test, { isReading: false });
    await live;
    const behind = waitForSignal('console.stream.behind');
    let isBehind = false;
    void behind.then(() => {
      isBehind = true;
    });
    const flood = async (): Promise<boolean> => {
      await test.store.service.transaction((c) =>
        c.query(
          `insert into headgate.run_event (id, tenant_id, type)
           select headgate.uuid7(), $1, repeat('x', 2000) from generate_series(1, 1000)`,
          [test.tenant.id],
        ),
      );
      return isBehind;
    };
    await eventually(flood, { what: 'the client falls behind', deadlineMs: 25_000, everyMs: 200 });
    slow.begin();
    await eventually(() => slow.frames.some((frame) => frame.event === 'reload'), {
      what: 'it is told to reload',
      ...WITHIN,
    });
    expect(slow.frames.find((frame) => frame.event === 'reload')?.data).toEqual({ why: 'slow' });
    const seen = slow.changes().length;
    await tell(test.store, test.tenant.id, 'test.after');
    await eventually(() => slow.changes().at(-1)?.type === 'test.after', { what: 'and lives on', ...WITHIN });
    expect(seen).toBeGreaterThan(0);
  });

  it('goes on by itself when the database was away, and a beat says until when it is complete', async () => {
    const store = await testStore();
    const proxy = await faultProxy({ port: Number(new URL(store.urls.serviceUrl).port) });
    const test = await aConsole({ store, serviceUrl: proxy.through(store.urls.serviceUrl) });
    const client = await aClient(test);
    await client.live();
    proxy.blackhole();
    proxy.cut();
    await tell(store, test.tenant.id, 'test.meanwhile');
    proxy.heal();
    proxy.cut();
    await eventually(() => client.changes().some((change) => change.type === 'test.meanwhile'), {
      what: 'what happened meanwhile is told',
      deadlineMs: 25_000,
    });
    const beat = client.frames.findLast((frame) => frame.event === 'beat');
    expect(beat?.data).toEqual({ readAt: expect.stringMatching(/Z$/) });
    expect(client.hasEnded()).toBe(false);
  });

  it('ends for a token that was revoked', async () => {
    const test = await aConsole();
    const client = await aClient(test, { token: test.tokens.viewer });
    await client.live();
    await withClient(test.store.urls.serviceUrl, (c) =>
      c.query("update headgate.api_token set revoked_at = clock_timestamp() where name = 'viewer'"),
    );
    await eventually(() => client.hasEnded(), { what: 'the stream ends', deadlineMs: 45_000 });
  });
});
