/**
 * The one connection of this page to `GET /v1/stream`.
 *
 * Changes are handed on in batches, so that a burst of a thousand is one redraw. The browser connects again by itself and
 * says what it saw last; a page that was hidden for long lets go of the connection (a browser has few) and reads
 * everything again when it is looked at.
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

const BATCH_MS = 250;
const STALE_AFTER_MS = 12_000;
const HIDDEN_MS = 60_000;
const OPEN_AGAIN_MS = 3_000;

export class LiveConnection {
  readonly #listener: LiveListener;
  #source: EventSource | null = null;
  #batch: StreamChange[] = [];
  #timers = new Map<'batch' | 'hidden' | 'again', ReturnType<typeof setTimeout>>();
  #readAt: string | null = null;
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
    this.#source?.close();
    this.#source = null;
  }

  #open(): void {
    if (this.#source !== null) return;
    this.#listener.onState({ kind: 'connecting' });
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
  }

  #onBeat({ readAt }: StreamBeat): void {
    this.#readAt = readAt;
    const isStale = readAt === null || Date.now() - Date.parse(readAt) > STALE_AFTER_MS;
    this.#listener.onState(isStale ? { kind: 'stale', since: readAt } : { kind: 'live' });
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
    this.#listener.onState({ kind: 'lost', since: this.#readAt ?? new Date().toISOString() });
    if (source.readyState !== EventSource.CLOSED) return;
    // The browser gave up: the answer was no stream.
    source.close();
    this.#source = null;
    this.#readAt = null;
    this.#listener.onRefused();
    this.#after('again', OPEN_AGAIN_MS, () => this.#open());
  }

  readonly #onVisibility = (): void => {
    if (document.visibilityState === 'hidden') {
      this.#after('hidden', HIDDEN_MS, () => {
        this.#source?.close();
        this.#source = null;
        this.#readAt = null;
      });
      return;
    }
    clearTimeout(this.#timers.get('hidden'));
    this.#timers.delete('hidden');
    this.#open();
  };

  #after(name: 'batch' | 'hidden' | 'again', ms: number, act: () => void): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.set(
      name,
      setTimeout(() => {
        this.#timers.delete(name);
        act();
      }, ms),
    );
  }
}
