/**
 * The only way out of a sandbox with a network list: an HTTP proxy on a Unix socket that is bound into it.
 *
 *   command ─HTTPS_PROXY─► relay (in the sandbox, loopback) ─Unix socket─► this proxy (in the worker) ─► internet
 *
 * The sandbox has no network of its own, so what does not come by here goes nowhere. Each connection is decided by
 * name and port; the name is looked up here, once, and the very address that was judged is connected to, so that a
 * second answer of a name server changes nothing. TLS goes through unread: what an allowed server does with a
 * request is not seen.
 *
 * One per command, ended with it: `close` cuts every connection. A worker that dies takes it along; what stays is the
 * socket's file in the attempt's folder, which the sweep removes.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import { chmod, type FileHandle, open, rm } from 'node:fs/promises';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import type { Duplex } from 'node:stream';
import { isPublicAddress } from '@headgate/config';
import { type HostAndPort, type NetworkRule, networkRuleFor, parseHostAndPort } from '@headgate/domain';
import { untraced } from '@headgate/telemetry';

/** What was asked for and not let through. `host` is as the command wrote it: not to be trusted. */
export interface NetworkRefusal {
  readonly host: string;
  readonly why: string;
}

export interface EgressProxyOptions {
  /** Where it listens; in a folder that only we may enter. */
  readonly socketPath: string;
  readonly rules: readonly NetworkRule[];
  readonly onRefused: (refusal: NetworkRefusal) => void;
  /** All addresses of a name; the system's own by default. */
  readonly lookup?: (host: string) => Promise<readonly string[]>;
}

/** More at once than any build needs, and fewer than the worker has descriptors. */
const MAX_CONNECTIONS = 256;
const CONNECT_TIMEOUT_MS = 10_000;
const LOOKUP_TIMEOUT_MS = 10_000;

/** Of one connection only, or ours to say; never handed on (RFC 9110, 7.6.1). */
const HOP_HEADERS = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export class EgressProxy {
  readonly #options: EgressProxyOptions;
  readonly #server: Server;
  readonly #folder: FileHandle;
  readonly #sockets = new Set<Socket>();

  private constructor(options: EgressProxyOptions, folder: FileHandle) {
    this.#options = options;
    this.#folder = folder;
    this.#server = createServer((request, response) => void this.#forward(request, response));
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on('connection', (socket) => this.#keep(socket));
    this.#server.on('connect', (request, client, head) => void this.#tunnel(request, client, head));
    this.#server.on('upgrade', (_request, client) => answer(client, 501, 'use CONNECT'));
    this.#server.on('clientError', (_fault, client) => client.destroy());
  }

  static async start(options: EgressProxyOptions): Promise<EgressProxy> {
    const { socketPath } = options;
    const folder = await open(dirname(socketPath));
    const proxy = new EgressProxy(options, folder);
    // By the folder's descriptor: a path of a data folder may be longer than a socket's may be.
    await listen(proxy.#server, `/proc/self/fd/${folder.fd}/${basename(socketPath)}`).catch(async (fault) => {
      await folder.close();
      throw fault;
    });
    // The command is another user than the worker where the worker is root.
    await chmod(options.socketPath, 0o666);
    return proxy;
  }

  /** Cuts everything and takes the socket away. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    await this.#folder.close();
    await rm(this.#options.socketPath, { force: true });
  }

  async #tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on('error', () => client.destroy());
    const written = request.url ?? '';
    const target = /:\d+$/.test(written) ? parseHostAndPort(written) : null;
    const way = await this.#decide(written, target);
    if (way.kind === 'refused') return answer(client, 403, way.why);
    const server = await this.#connect(way.address, way.port);
    if (server === null) return answer(client, 502, `${written} does not answer`);
    if (client.destroyed) return void server.destroy();
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) server.write(head);
    join(client, server);
  }

  /** A plain http:// request. */
  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = absoluteUrl(request.url);
    if (url === null) {
      return refuse(response, 400, 'this is a proxy: ask for http://…, or CONNECT for everything else');
    }
    const way = await this.#decide(url.host, parseHostAndPort(`${url.hostname}:${url.port || '80'}`));
    if (way.kind === 'refused') return refuse(response, 403, way.why);
    // Its span would be the worker's, and its header would tell the server our trace.
    untraced(() => {
      const onward = httpRequest({
        host: way.address,
        port: way.port,
        method: request.method,
        path: `${url.pathname}${url.search}`,
        headers: { ...handedOn(request.headers), host: url.host },
        agent: false,
        timeout: CONNECT_TIMEOUT_MS,
      });
      onward.on('socket', (socket) => this.#keep(socket));
      onward.on('timeout', () => onward.destroy(new Error('no answer')));
      onward.on('response', (answered) => {
        response.writeHead(answered.statusCode ?? 502, handedOn(answered.headers));
        answered.pipe(response);
        answered.on('error', () => response.destroy());
      });
      onward.on('error', () => {
        if (response.headersSent) response.destroy();
        else refuse(response, 502, `${url.host} does not answer`);
      });
      request.on('error', () => onward.destroy());
      response.on('close', () => onward.destroy());
      request.pipe(onward);
    });
  }

  async #decide(written: string, target: HostAndPort | null): Promise<Way> {
    const refused = (why: string): Way => {
      this.#options.onRefused({ host: written, why });
      return { kind: 'refused', why: `Headgate: ${why}` };
    };
    if (target === null || target.host.startsWith('*')) return refused('it is no host and port');
    const rule = networkRuleFor(this.#options.rules, target);
    if (rule === null) return refused('it is not in the network list of this command');
    const addresses = await this.#addressesOf(target.host);
    if (addresses.length === 0) return refused('its name leads to no address');
    // One bad address among good ones is no accident.
    const inside = addresses.find((address) => !isPublicAddress(address));
    if (inside !== undefined && !rule.allowPrivate) {
      return refused(
        `it leads to ${inside}, which is not on the internet; its rule would need "private: true"`,
      );
    }
    return { kind: 'open', address: addresses[0] ?? '', port: target.port };
  }

  async #addressesOf(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host];
    const { lookup = everyAddress } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<readonly string[]>((resolve) => {
      timer = setTimeout(() => resolve([]), LOOKUP_TIMEOUT_MS);
    });
    const found = lookup(host).catch(() => []);
    const addresses = await Promise.race([found, late]);
    clearTimeout(timer);
    return addresses;
  }

  #connect(host: string, port: number): Promise<Socket | null> {
    return new Promise((resolve) => {
      const socket = this.#keep(connect({ host, port }));
      const timer = setTimeout(() => socket.destroy(), CONNECT_TIMEOUT_MS);
      socket.once('connect', () => {
        clearTimeout(timer);
        resolve(socket);
      });
      socket.once('close', () => {
        clearTimeout(timer);
        resolve(null);
      });
    });
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    // A reset is an end like another; `close` follows.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

type Way =
  | { readonly kind: 'open'; readonly address: string; readonly port: number }
  | { readonly kind: 'refused'; readonly why: string };

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function join(client: Duplex, server: Socket): void {
  client.pipe(server).pipe(client);
  client.once('close', () => server.destroy());
  server.once('close', () => client.destroy());
}

function answer(client: Duplex, status: number, why: string): void {
  client.on('error', () => client.destroy());
  const text = `${why}\n`;
  client.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  response.end(`${why}\n`);
}

function absoluteUrl(text: string | undefined): URL | null {
  if (text === undefined || !/^http:\/\//i.test(text) || !URL.canParse(text)) return null;
  return new URL(text);
}

/** Without what concerns one connection only, and what `Connection` names as such. */
function handedOn(headers: IncomingMessage['headers']): OutgoingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !HOP_HEADERS.has(name) && !named.includes(name)),
  );
}

async function everyAddress(host: string): Promise<readonly string[]> {
  const found = await systemLookup(host, { all: true });
  return found.map(({ address }) => address);
}
