/**
 * `GET /v1/stream`: what happens, to everybody who may see it, as it is committed.
 *
 *   run_event ──► one poller per process ──► each client whose tenants include the event's
 *                 position (incarnation, xid, id)
 *
 * Who writes: the poller alone moves the position, and offers each event to all clients before the next one; requests
 * add and remove clients. All of it runs on one thread, so what stands between two awaits is not interrupted.
 *
 * The races, and what keeps them harmless:
 * - A transaction with earlier ids commits late. The position knows transactions, not ids (store/event-feed): such rows
 *   are read when they are there, and none after them was read before.
 * - A client joins while events come. It is added to the clients in the same step in which the position is read; what is
 *   polled from then on waits in its queue while what it missed, up to that position, is read under row level security;
 *   then the one, then the other. Nothing is lost between, and nothing comes twice.
 * - A client resumes with a place that another console process gave it, ahead of ours: it sees some changes again. Each
 *   names its event's id; the stream is at least once.
 * - The database is away, or is restarted. The poll fails and is tried again from the same position; clients stay, and
 *   their beat says until when the stream is complete.
 * - The data was restored from a dump: the incarnation differs, no position means anything, all clients reload.
 * - A token is revoked, a session ends, a tenant is added: who the client is gets asked again every 15 s. The
 *   stream of one who is nobody any more ends.
 * - The process dies: clients come back with their last place, here or at another console.
 */
import type { StreamBeat } from '@headgate/sdk';
import { HttpProblem, Loop, type ServiceContext } from '@headgate/service';
import { eventFeed, type FeedEvent, type FeedPosition, isConnectionFault } from '@headgate/store';
import { testSignal } from '@headgate/telemetry';
import type { Request, Response } from 'express';
import { type Caller, callerOf } from '../auth/index.js';
import { inScope } from '../queries/index.js';
import { changeFrame } from './change.js';
import { isBefore, readPlace, writePlace } from './place.js';
import { type Frame, Subscriber } from './subscriber.js';

const POLL_MS = 500;
const EVENTS_PER_POLL = 500;
const BEAT_MS = 5_000;
/** Who a client is gets asked again every so many beats. */
const BEATS_PER_CHECK = 3;
/** More than this was missed: reading the page again is cheaper. */
const MAX_MISSED = 1_000;
const RETRY_MS = 2_000;
const MAX_CLIENTS = 1_000;

interface Client {
  readonly request: Request;
  readonly response: Response;
  readonly subscriber: Subscriber;
  readonly runId: string | null;
  tenants: readonly number[];
  beats: number;
}

export class EventStream {
  readonly #context: ServiceContext;
  readonly #poller: Loop;
  readonly #clients = new Set<Client>();
  /** Called when the position is known. */
  readonly #waiting = new Set<() => void>();
  #position: FeedPosition | null = null;
  #readAt: Date | null = null;
  #beat: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor(context: ServiceContext) {
    this.#context = context;
    this.#poller = new Loop({
      name: 'event stream',
      periodMs: POLL_MS,
      logger: context.logger,
      tick: () => this.#poll(),
    });
  }

  start(): void {
    this.#isStopped = false;
    this.#beat ??= setInterval(() => this.#beatAll(), BEAT_MS).unref();
    this.#poller.start();
  }

  /** Ends all streams; their clients go to another console, or wait for this one. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#beat !== null) clearInterval(this.#beat);
    this.#beat = null;
    for (const client of this.#clients) client.subscriber.end();
    this.#clients.clear();
    await this.#poller.stop();
  }

  /** Streams to the response until either side ends it. */
  async serve(
    caller: Caller,
    request: Request,
    response: Response,
    asked: { readonly lastPlace: string | null; readonly runId: string | null },
  ): Promise<void> {
    if (this.#isStopped || this.#clients.size >= MAX_CLIENTS) throw full();
    const subscriber = new Subscriber(response);
    const { runId, lastPlace } = asked;
    const client: Client = { request, response, subscriber, runId, tenants: caller.tenants, beats: 0 };
    response.on('close', () => this.#clients.delete(client));
    subscriber.begin(RETRY_MS);
    const position = await this.#join(client);
    if (position === null) return;
    const missed = await this.#missed(caller, client, lastPlace, position);
    subscriber.goLive([...missed.frames, this.#beatFrame()], missed.reload);
    testSignal('console.stream.live', { tenants: client.tenants });
  }

  /** Adds the client at a known position; null: it went away meanwhile. */
  async #join(client: Client): Promise<FeedPosition | null> {
    this.#clients.add(client);
    if (this.#position === null) {
      this.#poller.wake();
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
        client.response.once('close', resolve);
      });
    }
    return client.subscriber.isClosed ? null : this.#position;
  }

  async #missed(
    caller: Caller,
    client: Client,
    lastPlace: string | null,
    position: FeedPosition,
  ): Promise<{ frames: readonly Frame[]; reload: 'too-old' | 'restored' | null }> {
    if (lastPlace === null) return { frames: [], reload: null };
    const place = readPlace(lastPlace);
    if (place === null) return { frames: [], reload: 'too-old' };
    if (place.incarnation !== position.incarnation) return { frames: [], reload: 'restored' };
    if (!isBefore(place, position)) return { frames: [], reload: null };
    try {
      const events = await inScope(this.#context, caller, (c) =>
        eventFeed.between(c, place, position, MAX_MISSED + 1),
      );
      if (events.length > MAX_MISSED) return { frames: [], reload: 'too-old' };
      const wanted = events.filter((event) => isFor(client, event));
      return { frames: wanted.map((event) => changeFrame(position.incarnation, event)), reload: null };
    } catch (fault) {
      if (!isConnectionFault(fault)) this.#context.logger.error({ err: fault }, 'missed events unreadable');
      return { frames: [], reload: 'too-old' };
    }
  }

  async #poll(): Promise<'busy' | 'idle'> {
    if (this.#clients.size === 0) {
      this.#position = null;
      return 'idle';
    }
    const read = await this.#context.database.service.use(async (c) => {
      const incarnation = await eventFeed.incarnation(c);
      const known = this.#position;
      if (known === null || known.incarnation !== incarnation) {
        return { position: await eventFeed.end(c), events: [], isRestored: known !== null };
      }
      const events = await eventFeed.after(c, known, EVENTS_PER_POLL);
      const last = events.at(-1);
      return {
        position: last === undefined ? known : { ...known, ...placeOf(last) },
        events,
        isRestored: false,
      };
    });
    this.#position = read.position;
    this.#readAt = this.#context.clock.now();
    if (read.isRestored) this.#offerAll({ event: 'reload', data: { why: 'restored' }, id: null });
    for (const event of read.events) this.#offer(read.position.incarnation, event);
    for (const known of this.#waiting) known();
    this.#waiting.clear();
    return read.events.length === EVENTS_PER_POLL ? 'busy' : 'idle';
  }

  #offer(incarnation: string, event: FeedEvent): void {
    const frame = changeFrame(incarnation, event);
    for (const client of this.#clients) if (isFor(client, event)) client.subscriber.offer(frame);
  }

  #offerAll(frame: Frame): void {
    for (const client of this.#clients) client.subscriber.offer(frame);
  }

  #beatAll(): void {
    this.#offerAll(this.#beatFrame());
    for (const client of this.#clients) {
      client.beats += 1;
      if (client.beats % BEATS_PER_CHECK === 0) void this.#check(client);
    }
  }

  #beatFrame(): Frame {
    const data: StreamBeat = { readAt: this.#readAt?.toISOString() ?? null };
    return { event: 'beat', data, id: this.#position === null ? null : writePlace(this.#position) };
  }

  async #check(client: Client): Promise<void> {
    try {
      const caller = await callerOf(this.#context, client.request);
      if (caller === null) client.subscriber.end();
      else client.tenants = caller.tenants;
    } catch (fault) {
      // Nobody can be asked: nothing new can be read either.
      if (!isConnectionFault(fault))
        this.#context.logger.error({ err: fault }, 'a stream’s caller is unknown');
    }
  }
}

const placeOf = ({ xid, id }: FeedEvent): Pick<FeedPosition, 'xid' | 'id'> => ({ xid, id });

const isFor = (client: Client, event: FeedEvent): boolean =>
  client.tenants.includes(event.tenantId) && (client.runId === null || client.runId === event.runId);

const full = (): HttpProblem =>
  new HttpProblem({
    status: 503,
    code: 'OVERLOADED',
    title: 'No more streams can be served here.',
    detail: 'This console is ending, or serves as many streams as it may. Connect again.',
    retryAfterSeconds: 2,
  });
