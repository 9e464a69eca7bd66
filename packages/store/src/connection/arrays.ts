/**
 * Array parameters in the binary format. A batch sends some hundred values a signal; as text each is quoted and escaped
 * here and parsed there, JSON twice, and bytes travel as hex (four times the work for a payload). The driver sends a
 * Buffer as binary, so an array that is encoded here needs nothing else of it.
 *
 * Layout (array_send of Postgres): dimensions, whether there are nulls, the element's oid, length, lower bound; then
 * each element with its length, -1 for null. Types without a writer go the driver's way, as text: a uuid is quicker so.
 */
type WriteElement = (writer: Writer, value: unknown) => void;

const ELEMENTS: ReadonlyMap<string, { readonly oid: number; readonly write: WriteElement }> = new Map([
  ['text', { oid: 25, write: (to, value) => to.text(String(value)) }],
  ['int', { oid: 23, write: (to, value) => to.int32(Number(value)) }],
  ['bigint', { oid: 20, write: (to, value) => to.int64(BigInt(value as string | number)) }],
  ['boolean', { oid: 16, write: (to, value) => to.byte(value === true ? 1 : 0) }],
  ['timestamptz', { oid: 1184, write: (to, value) => to.instant(value as Date) }],
  ['bytea', { oid: 17, write: (to, value) => to.bytes(value as Uint8Array) }],
  ['jsonb', { oid: 3802, write: (to, value) => to.json(String(value)) }],
]);

/** Values of one column, for a parameter that is cast to an array of that type. */
export function arrayOf(type: string, values: readonly unknown[]): unknown {
  const element = ELEMENTS.get(type);
  if (element === undefined || values.length === 0) return values;
  const writer = new Writer();
  writer.int32(1);
  writer.int32(values.some((value) => value == null) ? 1 : 0);
  writer.int32(element.oid);
  writer.int32(values.length);
  writer.int32(1);
  for (const value of values) {
    if (value == null) writer.int32(-1);
    else {
      const lengthAt = writer.openElement();
      element.write(writer, value);
      writer.closeElement(lengthAt);
    }
  }
  return writer.written();
}

/** Postgres counts microseconds from here. */
const EPOCH_MS = Date.UTC(2000, 0, 1);
const JSONB_VERSION = 1;
const FIRST_BYTES = 1024;

/** Up to here a loop is quicker than a call into the runtime. */
const SHORT_TEXT = 64;

/** Bytes one behind the other. Written to be quick: some hundred values of every signal pass here. */
class Writer {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #end = 0;

  written(): Buffer {
    return this.#buffer.subarray(0, this.#end);
  }

  /** Leaves room for the length of what is written next. */
  openElement(): number {
    const lengthAt = this.#end;
    this.#reserve(4);
    this.#end += 4;
    return lengthAt;
  }

  closeElement(lengthAt: number): void {
    this.#setInt32(lengthAt, this.#end - lengthAt - 4);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#end] = value;
    this.#end += 1;
  }

  int32(value: number): void {
    // A plain fault, as the caller knows it: one that belongs to a row, not to the server.
    if ((value | 0) !== value) throw new RangeError('not an integer of 32 bits');
    this.#reserve(4);
    this.#setInt32(this.#end, value);
    this.#end += 4;
  }

  int64(value: bigint): void {
    this.#reserve(8);
    this.#end = this.#buffer.writeBigInt64BE(value, this.#end);
  }

  text(value: string): void {
    // A UTF-16 unit is three bytes of UTF-8 at most.
    this.#reserve(value.length * 3);
    if (!this.#ascii(value)) this.#end += this.#buffer.write(value, this.#end, 'utf8');
  }

  json(value: string): void {
    this.byte(JSONB_VERSION);
    this.text(value);
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#buffer.set(value, this.#end);
    this.#end += value.length;
  }

  instant(value: Date): void {
    this.int64(BigInt(value.getTime() - EPOCH_MS) * 1000n);
  }

  /** False, and nothing written, if it is long or holds anything else. */
  #ascii(value: string): boolean {
    if (value.length > SHORT_TEXT) return false;
    for (let at = 0; at < value.length; at += 1) {
      const code = value.charCodeAt(at);
      if (code > 0x7f) return false;
      this.#buffer[this.#end + at] = code;
    }
    this.#end += value.length;
    return true;
  }

  #setInt32(at: number, value: number): void {
    this.#buffer[at] = value >>> 24;
    this.#buffer[at + 1] = value >>> 16;
    this.#buffer[at + 2] = value >>> 8;
    this.#buffer[at + 3] = value;
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#end);
    this.#buffer = grown;
  }
}
