/**
 * Sends an artifact. Its bytes come from an agent: they are a download, of a plain type, that no page may run; and the
 * file must lie below the artifacts folder, links followed, whatever its row says.
 */
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { openBelow } from '../files/open-below.js';
import { notFound, SANDBOXED_CSP } from '../http/index.js';
import type { ArtifactFile } from '../queries/index.js';

export async function sendArtifact(root: string, file: ArtifactFile, response: Response): Promise<void> {
  const handle = await openBelow(root, file.path);
  if (handle === null) {
    throw notFound(`The content of ${file.name} (it lies with the worker that made it, or is gone)`);
  }
  try {
    const { size } = await handle.stat();
    response.setHeader('content-type', plainType(file.mediaType));
    response.setHeader('accept-ranges', 'bytes');
    response.setHeader('content-disposition', `attachment; filename*=UTF-8''${rfc5987(file.name)}`);
    response.setHeader('content-security-policy', SANDBOXED_CSP);
    response.setHeader('cache-control', 'private, no-store');
    const range = rangeOf(response.req.get('range'), size);
    if (range === 'outside') {
      response.status(416).setHeader('content-range', `bytes */${size}`).end();
      return;
    }
    const { start, end } = range ?? { start: 0, end: size - 1 };
    if (range !== null) response.status(206).setHeader('content-range', `bytes ${start}-${end}/${size}`);
    response.setHeader('content-length', end - start + 1);
    if (response.req.method === 'HEAD' || size === 0) response.end();
    else await pipeline(handle.createReadStream({ autoClose: false, start, end }), response);
  } catch (fault) {
    // The reader went away, or the disk failed after the headers: nothing more can be said.
    if (!response.headersSent) throw fault;
    response.destroy();
  } finally {
    await handle.close();
  }
}

/**
 * `bytes=from-to`, one range; anything else is answered with the whole, as RFC 9110 lets a server do. Null: whole;
 * 'outside': no byte of it is there.
 */
function rangeOf(
  header: string | undefined,
  size: number,
): { start: number; end: number } | 'outside' | null {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (from === '' && to === '') return null;
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (start >= size || end < start) return 'outside';
  return { start, end };
}

/** Text is shown as text, everything else is bytes: HTML and SVG would be ours to a browser. */
const plainType = (mediaType: string): string =>
  mediaType.startsWith('text/') || mediaType === 'application/json'
    ? 'text/plain; charset=utf-8'
    : 'application/octet-stream';

const rfc5987 = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
