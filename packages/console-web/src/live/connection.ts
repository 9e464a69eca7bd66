/**
 * The one connection of this page to `GET /v1/stream`.
 *
 * Changes are handed on in batches, so that a burst of a thousand is one redraw. The browser connects again by itself and
 * says what it saw last; a page that was hidden for long lets go of the connection (a browser has few) and reads
 * everything again when it is looked at. A connection that says nothing (the machine slept, a router forgot it) is given
 * up and made anew. A page that was lost says so, since the same moment, until it hears again.
 *
 * No clock of this machine is compared with one of another: the database is behind when what it says stands still.
 */
import type { StreamBeat, StreamChange } from '@headgate/sdk';

export type LiveState =
  | { readonly kind: 'connecting' }
  /** Complete until `readAt`. */
  | { readonly kind: 'live' }
  /** Connected, but the console cannot read the database. */
  | { readonly kind: 'stale'; readonly since: string | null }
  | { readonly kind: 'lost'; readonly since: string };

export interface LiveListener {
  onChanges(changes: readonly StreamChange[]): void;
  /** Changes were left out: read again what is shown. */
  onReload(): void;
  onState(state: LiveState): void;
  /** The server would not have us: the session may be over. */
  onRefused(): void;
}

type TimerName = 'batch' | 'hidden' | 'again' | 'silence';

const BATCH_MS = 250;
const STALE_AFTER_MS = 12_000;
const HIDDEN_MS = 60_000;
const OPEN_AGAIN_MS = 3_000;
/** Four beats. */
const SILENCE_MS = 20_000;

export class LiveConnection {
  readonly #listener: LiveListener;
  readonly #timers = new Map<TimerName, ReturnType<typeof setTimeout>>();
  #source: EventSource | null = null;
  #batch: StreamChange[] = [];
  #readAt: string | null = null;
  /** When `readAt` moved, by the page's own clock. */
  #movedMs = 0;
  #lostSince: string | null = null;
  #wasOpen = false;

  constructor(listener: LiveListener) {
    this.#listener = listener;
  }

  start(): void {
    document.addEventListener('visibilitychange', this.#onVisibility);
    this.#open();
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#letGo();
  }

  #open(): void {
    if (this.#source !== null) return;
    if (this.#lostSince === null) this.#listener.onState({ kind: 'connecting' });
    const source = new EventSource('/v1/stream');
    this.#source = source;
    source.addEventListener('open', () => {
      // After a break the browser said what it saw last; a connection of our own making did not.
      if (this.#wasOpen && this.#readAt === null) this.#listener.onReload();
      this.#wasOpen = true;
    });
    source.addEventListener('beat', (event) => this.#onBeat(JSON.parse(event.data) as StreamBeat));
    source.addEventListener('reload', () => this.#listener.onReload());
    source.addEventListener('change', (event) => this.#onChange(JSON.parse(event.data) as StreamChange));
    source.addEventListener('error', () => this.#onError(source));
    this.#awaitBeat();
  }

  #letGo(): void {
    this.#source?.close();
    this.#source = null;
    this.#readAt = null;
    this.#cancel('silence');
  }

  #onBeat({ readAt }: StreamBeat): void {
    if (readAt !== this.#readAt) this.#movedMs = performance.now();
    this.#readAt = readAt;
    this.#lostSince = null;
    const isStale = readAt === null || performance.now() - this.#movedMs > STALE_AFTER_MS;
    this.#listener.onState(isStale ? { kind: 'stale', since: readAt } : { kind: 'live' });
    this.#awaitBeat();
  }

  #onChange(change: StreamChange): void {
    this.#batch.push(change);
    if (this.#timers.has('batch')) return;
    this.#after('batch', BATCH_MS, () => {
      const changes = this.#batch;
      this.#batch = [];
      this.#listener.onChanges(changes);
    });
  }

  #onError(source: EventSource): void {
    this.#lose();
    if (source.readyState !== EventSource.CLOSED) return;
    // The browser gave up: the answer was no stream.
    this.#letGo();
    this.#listener.onRefused();
    this.#after('again', OPEN_AGAIN_MS, () => this.#open());
  }

  #awaitBeat(): void {
    this.#after('silence', SILENCE_MS, () => {
      this.#lose();
      this.#letGo();
      this.#open();
    });
  }

  /** Still so when it is lost again before it was heard of. */
  #lose(): void {
    this.#lostSince ??= this.#readAt ?? new Date().toISOString();
    this.#listener.onState({ kind: 'lost', since: this.#lostSince });
  }

  readonly #onVisibility = (): void => {
    if (document.visibilityState === 'hidden') {
      this.#after('hidden', HIDDEN_MS, () => this.#letGo());
      return;
    }
    this.#cancel('hidden');
    this.#open();
  };

  #after(name: TimerName, ms: number, act: () => void): void {
    this.#cancel(name);
    this.#timers.set(
      name,
      setTimeout(() => {
        this.#timers.delete(name);
        act();
      }, ms),
    );
  }

  #cancel(name: TimerName): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }
}
