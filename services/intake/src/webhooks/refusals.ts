/**
 * What was refused before its sender was known, counted: whoever holds no secret must not be able to fill the database,
 * and whoever set a wrong one must still find a trace. One receipt per source and minute says how many and why.
 *
 * Who may write: this process its own counts, in memory. A crash loses the running minute's counts, never a delivery;
 * the metric is the finer figure. Several processes write a receipt each: the event id names the process. A minute
 * that cannot be stored now is added to the next one.
 */
import type { Admission } from '@headgate/admission';
import type { Clock, Signal, SourcePolicy, Verdict } from '@headgate/domain';
import { envelopeOf } from '@headgate/sources';
import { type Logger, metrics } from '@headgate/telemetry';

export type Refusal = 'signature' | 'encoding' | 'size' | 'time';

const WORDS: Readonly<Record<Refusal, string>> = {
  signature: 'without a valid signature',
  encoding: 'compressed',
  size: 'larger than 25 MB',
  time: 'not complete in time',
};

export interface RefusalsOptions {
  readonly admission: Admission;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names this process among others. */
  readonly processId: string;
  readonly everyMs?: number;
}

interface Tally {
  readonly source: SourcePolicy;
  readonly since: Date;
  readonly counts: Map<Refusal, number>;
}

const MINUTE_MS = 60_000;

export class Refusals {
  readonly #options: RefusalsOptions;
  #tallies = new Map<string, Tally>();
  #timer: NodeJS.Timeout | undefined;
  #telling: Promise<void> = Promise.resolve();

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  count(source: SourcePolicy, refusal: Refusal): void {
    metrics.receipts.add(1, { outcome: 'reject', reason_code: reasonOf(refusal) });
    const tally = this.#tallies.get(source.id) ?? {
      source,
      since: this.#options.clock.now(),
      counts: new Map(),
    };
    tally.counts.set(refusal, (tally.counts.get(refusal) ?? 0) + 1);
    this.#tallies.set(source.id, tally);
    this.#timer ??= setTimeout(() => void this.tell(), this.#options.everyMs ?? MINUTE_MS).unref();
  }

  /** Writes what was counted so far. Resolves when it is stored, or kept for the next time. */
  tell(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const tallies = [...this.#tallies.values()];
    this.#tallies = new Map();
    this.#telling = this.#telling.then(() => this.#tellAll(tallies));
    return this.#telling;
  }

  async #tellAll(tallies: readonly Tally[]): Promise<void> {
    for (const tally of tallies) {
      try {
        await this.#options.admission.submit(this.#submissionOf(tally));
      } catch (fault) {
        this.#options.logger.warn(
          { err: fault, source: tally.source.id },
          'refused deliveries could not be noted',
        );
        this.#keep(tally);
      }
    }
  }

  #keep(tally: Tally): void {
    const newer = this.#tallies.get(tally.source.id)?.counts ?? new Map<Refusal, number>();
    for (const [refusal, count] of newer) tally.counts.set(refusal, (tally.counts.get(refusal) ?? 0) + count);
    this.#tallies.set(tally.source.id, tally);
    this.#timer ??= setTimeout(() => void this.tell(), this.#options.everyMs ?? MINUTE_MS).unref();
  }

  #submissionOf({ source, since, counts }: Tally) {
    const { clock, processId } = this.#options;
    const now = clock.now();
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const parts = [...counts].map(([refusal, count]) => `${count} ${WORDS[refusal]}`);
    const span = `${since.toISOString()} to ${now.toISOString()}`;
    const verdict: Verdict = {
      outcome: 'reject',
      reasonCode: counts.has('signature') ? 'SIGNATURE_INVALID' : 'MALFORMED',
      detail: `${total} deliveries were refused from ${span}: ${parts.join(', ')}.`,
      retryAfter: null,
    };
    return {
      signal: signalOf(source, `refused/${processId}/${since.toISOString()}`, now),
      tenant: source.tenant,
      payload: null,
      verdict,
    };
  }
}

const reasonOf = (refusal: Refusal) => (refusal === 'signature' ? 'SIGNATURE_INVALID' : 'MALFORMED');

const signalOf = (source: SourcePolicy, eventId: string, receivedAt: Date): Signal =>
  envelopeOf({ source, receivedAt, traceparent: null }, { eventId, type: `${source.kind}.refused` });
