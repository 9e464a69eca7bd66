/**
 * One request to an address that a configuration names (security 11): no redirects, the resolved address pinned for
 * the connection, only public addresses unless a range is allowed by name, the answer bounded.
 *
 * The name is resolved once, every address it has is judged, and the socket is opened to the judged one: a name that
 * answers differently a moment later (DNS rebinding) changes nothing. Private, loopback, link-local and metadata
 * addresses, and IPv4 inside IPv6, are refused.
 */
import { lookup } from 'node:dns/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { isPublicAddress, isWithin } from '@headgate/domain';

export interface GuardedRequest {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ranges that may be reached although they are not public. */
  readonly allow?: readonly string[];
  /** Ends it early; it then answers `failed`. */
  readonly signal: AbortSignal;
}

export type GuardedAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  /** Its address may not be reached. */
  | { readonly kind: 'refused'; readonly detail: string }
  | { readonly kind: 'failed'; readonly detail: string };

const MAX_BODY_BYTES = 256 * 1024;

/** Never throws. */
export async function guardedRequest(asked: GuardedRequest): Promise<GuardedAnswer> {
  const url = URL.canParse(asked.url) ? new URL(asked.url) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return { kind: 'refused', detail: 'The address is neither http nor https.' };
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  try {
    const addresses =
      isIP(host) === 0 ? (await lookup(host, { all: true })).map((one) => one.address) : [host];
    const blocked = addresses.find((address) => !mayReach(address, asked.allow ?? []));
    const [address] = addresses;
    if (address === undefined) return { kind: 'failed', detail: `${host} has no address.` };
    if (blocked !== undefined) {
      return {
        kind: 'refused',
        detail: `${host} is at ${blocked}, which is not a public address. Name its range under allow to reach it.`,
      };
    }
    return await send(url, address, asked);
  } catch (fault) {
    return { kind: 'failed', detail: fault instanceof Error ? fault.message : String(fault) };
  }
}

const mayReach = (address: string, allow: readonly string[]): boolean =>
  isPublicAddress(address) || isWithin(address, allow);

function send(url: URL, address: string, { headers = {}, signal }: GuardedRequest): Promise<GuardedAnswer> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const fail = (fault: Error): void => resolve({ kind: 'failed', detail: fault.message });
    const sent = request(
      url,
      {
        headers: { accept: 'application/json, */*', 'user-agent': 'headgate', ...headers },
        agent: false,
        signal,
        // Pinned: whatever the name resolves to now, the connection goes to the address that was judged.
        lookup: (_host, options, callback) => {
          const family = isIP(address);
          if (options.all === true) callback(null, [{ address, family }]);
          else callback(null, address, family);
        },
      },
      (response) => {
        response.on('error', fail);
        read(response).then(resolve, fail);
      },
    );
    sent.on('error', fail);
    sent.end();
  });
}

async function read(response: IncomingMessage): Promise<GuardedAnswer> {
  const status = response.statusCode ?? 0;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BODY_BYTES) {
      response.destroy();
      return { kind: 'failed', detail: `The answer has more than ${MAX_BODY_BYTES} bytes.` };
    }
    chunks.push(chunk as Buffer);
  }
  // A redirect is an answer, and is not followed: where it leads was judged by nobody.
  return { kind: 'answered', status, body: Buffer.concat(chunks).toString('utf8') };
}
