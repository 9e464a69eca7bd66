/**
 * Sends an artifact. Its bytes come from an agent: they are a download, of a plain type, that no page may run; and the
 * file must lie below the artifacts folder, links followed, whatever its row says.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
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
    response.setHeader('content-length', size);
    response.setHeader('content-disposition', `attachment; filename*=UTF-8''${rfc5987(file.name)}`);
    response.setHeader('content-security-policy', SANDBOXED_CSP);
    response.setHeader('cache-control', 'private, no-store');
    if (response.req.method === 'HEAD') response.end();
    else if (size === 0) response.end();
    else await pipeline(handle.createReadStream({ autoClose: false, start: 0, end: size - 1 }), response);
  } catch (fault) {
    // The reader went away, or the disk failed after the headers: nothing more can be said.
    if (!response.headersSent) throw fault;
    response.destroy();
  } finally {
    await handle.close();
  }
}

async function openBelow(root: string, path: string): Promise<FileHandle | null> {
  try {
    const base = await realpath(root);
    const real = await realpath(resolve(base, path));
    if (!real.startsWith(base + sep)) return null;
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW);
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
    return null;
  } catch {
    return null;
  }
}

/** Text is shown as text, everything else is bytes: HTML and SVG would be ours to a browser. */
const plainType = (mediaType: string): string =>
  mediaType.startsWith('text/') || mediaType === 'application/json'
    ? 'text/plain; charset=utf-8'
    : 'application/octet-stream';

const rfc5987 = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
