/** Where no descriptor of its own can say that a sandbox stands: a line among what its command prints. */
import { PassThrough, type Readable } from 'node:stream';

/** Settles at the line, and passes everything else on. */
export function afterLine(
  stream: Readable,
  line: string,
): { readonly readyAt: Promise<void>; readonly rest: Readable } {
  const rest = new PassThrough();
  const wanted = Buffer.from(`${line}\n`);
  let before = Buffer.alloc(0);
  const readyAt = new Promise<void>((resolve) => {
    const look = (chunk: Buffer): void => {
      before = Buffer.concat([before, chunk]);
      const at = before.indexOf(wanted);
      if (at < 0) return;
      stream.off('data', look);
      rest.write(before.subarray(0, at));
      rest.write(before.subarray(at + wanted.length));
      before = Buffer.alloc(0);
      stream.pipe(rest);
      resolve();
    };
    stream.on('data', look);
    stream.once('end', () => rest.end(before));
  });
  return { readyAt, rest };
}
