/**
 * The log of a command: stdout and stderr as they came, line by line, up to a number of bytes. Lines pass a
 * redactor on their way, so a secret that is split over two chunks is still seen whole.
 */

import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { cutBetweenSecrets, redactText } from '@headgate/telemetry';

/** A line longer than this is cut into several, between secrets. */
const MAX_LINE_CHARACTERS = 16 * 1024;
const TAIL_CHARACTERS = 4 * 1024;

export type RedactLine = (line: string) => string;

export class LogArtifact {
  readonly path: string;
  readonly #maxBytes: number;
  readonly #redact: RedactLine;
  readonly #file: WriteStream;
  readonly #partial = new Map<string, { decoder: StringDecoder; text: string }>();
  #receivedBytes = 0;
  #writtenBytes = 0;
  #tail = '';
  #failure: Error | null = null;

  private constructor(path: string, maxBytes: number, redact: RedactLine) {
    this.path = path;
    this.#maxBytes = maxBytes;
    this.#redact = redact;
    this.#file = createWriteStream(path, { flags: 'w', mode: 0o600 });
    // A full disk loses the log, not the run; the result says so.
    this.#file.on('error', (error) => {
      this.#failure = error;
    });
  }

  static async open(path: string, maxBytes: number, redact: RedactLine = redactText): Promise<LogArtifact> {
    await mkdir(dirname(path), { recursive: true });
    return new LogArtifact(path, maxBytes, redact);
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }
  /** The last few thousand characters, redacted: evidence for receipts and dead letters. */
  get tail(): string {
    return this.#tail;
  }
  /** Why the log is incomplete, if it is. */
  get failure(): Error | null {
    return this.#failure;
  }
  get isOverLimit(): boolean {
    return this.#receivedBytes > this.#maxBytes;
  }

  /** Takes a chunk of one of the streams. Gives false when the reader should wait for `drained`. */
  write(stream: string, chunk: Buffer): boolean {
    this.#receivedBytes += chunk.length;
    const state = this.#partial.get(stream) ?? { decoder: new StringDecoder('utf8'), text: '' };
    this.#partial.set(stream, state);
    state.text += state.decoder.write(chunk);
    let accepted = true;
    for (let end = pieceEnd(state.text); end > 0; end = pieceEnd(state.text)) {
      accepted = this.#line(state.text.slice(0, end));
      state.text = state.text.slice(end);
    }
    return accepted;
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#failure !== null || !this.#file.writableNeedDrain) resolve();
      else this.#file.once('drain', resolve).once('error', () => resolve());
    });
  }

  /** A line of our own between the command's; neither counts as its output nor against its limit. */
  note(text: string): void {
    if (this.#failure === null) this.#file.write(this.#redact(`[headgate] ${text}\n`));
  }

  /** Writes what is left and a last line of our own, and closes the file. */
  async close(note: string | null): Promise<void> {
    for (const state of this.#partial.values()) {
      const rest = state.text + state.decoder.end();
      // Whole, however long: nothing follows that a secret could go on in.
      if (rest !== '') this.#line(rest.endsWith('\n') ? rest : `${rest}\n`);
    }
    if (note !== null) this.note(note);
    if (this.#failure !== null) return;
    this.#file.end();
    await once(this.#file, 'close').catch(() => undefined);
  }

  #line(line: string): boolean {
    const text = this.#redact(line);
    this.#tail = (this.#tail + text).slice(-TAIL_CHARACTERS);
    const bytes = Buffer.byteLength(text);
    if (this.#writtenBytes + bytes > this.#maxBytes) return true;
    this.#writtenBytes += bytes;
    return this.#failure !== null || this.#file.write(text);
  }
}

/** Where the first whole line ends, or a piece of a long one, never within a secret; 0 when there is none yet. */
function pieceEnd(text: string): number {
  const newline = text.indexOf('\n', 0);
  if (newline >= 0 && newline < MAX_LINE_CHARACTERS) return newline + 1;
  return text.length < MAX_LINE_CHARACTERS ? 0 : (cutBetweenSecrets(text, MAX_LINE_CHARACTERS) ?? 0);
}
