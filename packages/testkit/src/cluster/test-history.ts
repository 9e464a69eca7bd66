/** What the test itself does belongs to the history: faults and cancels. One file beside those of the services. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HistoryEntry, RecordedEntry } from '@headgate/telemetry';

export class TestHistory {
  readonly #file: string;
  #seq = 0;

  constructor(directory: string) {
    this.#file = join(directory, 'test.jsonl');
  }

  record(entry: HistoryEntry): void {
    this.#seq += 1;
    const line: RecordedEntry = {
      seq: this.#seq,
      proc: 'test',
      monoNs: process.hrtime.bigint().toString(),
      ...entry,
    };
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }
}
