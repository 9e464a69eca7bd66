import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { writePrivateFile } from './data-folder.js';

/**
 * A port on 127.0.0.1 that is free now: the remembered one if it is, so that addresses survive a restart.
 * Somebody may take it before our server binds it; callers try again.
 */
export async function chooseLoopbackPort(preferred: number | null): Promise<number> {
  if (preferred !== null && (await tryListen(preferred)) !== null) return preferred;
  const port = await tryListen(0);
  if (port === null) throw new Error('no free port on 127.0.0.1');
  return port;
}

/** The port remembered in a file; null when there is none or it makes no sense. */
export function rememberedPort(file: string): number | null {
  try {
    const port = Number(readFileSync(file, 'utf8').trim());
    return Number.isInteger(port) && port >= 1_024 && port <= 65_535 ? port : null;
  } catch {
    return null;
  }
}

export function rememberPort(file: string, port: number): void {
  writePrivateFile(file, `${port}\n`);
}

async function tryListen(port: number): Promise<number | null> {
  const server = createServer();
  try {
    server.listen({ port, host: '127.0.0.1', exclusive: true });
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : null;
  } catch {
    return null;
  } finally {
    server.close();
  }
}
