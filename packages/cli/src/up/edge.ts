/** The one port of `up`. */
import { createServer } from 'node:net';
import type { Settings } from '@headgate/config';
import { type HttpEdge, type HttpEdgeOptions, listen } from '@headgate/service';
import { CommandEnd, EXIT } from '../exit.js';
import { portTaken } from './port-holder.js';

/** How many ports after the default one are tried. */
const TRIES = 100;

/** Listens on the port that was asked for, or on the first free one from the default on. */
export async function openEdge(
  settings: Settings,
  options: Pick<HttpEdgeOptions, 'routers' | 'logger'>,
): Promise<HttpEdge> {
  const tries = settings.portIsExplicit ? 1 : TRIES;
  for (let port = settings.port; port < settings.port + tries; port += 1) {
    try {
      return await listen({ ...options, host: settings.host, port });
    } catch (fault) {
      if (!isTaken(fault)) throw refused(settings, fault);
    }
  }
  throw taken(settings);
}

/** Before anything is started: a port that was asked for and is taken. Ends the command. */
export async function checkPort(settings: Settings): Promise<void> {
  if (!settings.portIsExplicit || settings.port === 0) return;
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject);
      probe.listen({ port: settings.port, host: settings.host, exclusive: true }, resolve);
    });
  } catch (fault) {
    throw isTaken(fault) ? taken(settings) : refused(settings, fault);
  } finally {
    probe.close();
  }
}

/** Where a browser on this machine goes: an address that means "all" is not one. */
export function reachableUrl(edge: HttpEdge, host: string): string {
  const isAll = host === '0.0.0.0' || host === '::';
  return isAll ? `http://127.0.0.1:${edge.port}` : edge.url;
}

const isTaken = (fault: unknown): boolean =>
  fault instanceof Error && 'code' in fault && fault.code === 'EADDRINUSE';

const taken = (settings: Settings): CommandEnd =>
  new CommandEnd(
    EXIT.negative,
    portTaken(settings.port),
    settings.portIsExplicit
      ? 'End it, or set HEADGATE_PORT to another port.'
      : 'Set HEADGATE_PORT to a free port.',
  );

const refused = (settings: Settings, fault: unknown): CommandEnd =>
  new CommandEnd(
    EXIT.negative,
    `Cannot listen on ${settings.host}:${settings.port}: ${fault instanceof Error ? fault.message : String(fault)}.`,
    'Set HEADGATE_HOST and HEADGATE_PORT to an address of this machine.',
    { cause: fault },
  );
