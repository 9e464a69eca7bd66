/** What a sandboxed command may reach: names and ports. Decided outside the sandbox, for each connection. */
export interface NetworkRule {
  /** Lower case, ASCII: a name, an address, or `*.example.com` for every name below it (not for itself). */
  readonly host: string;
  readonly port: number;
  /** Also when the name leads to a private or loopback address. */
  readonly allowPrivate: boolean;
}

/** By the part of a run that runs in a sandbox. `verify` never reaches anything. */
export interface AgentNetwork {
  readonly setup: readonly NetworkRule[];
  readonly agent: readonly NetworkRule[];
}

export type HostAndPort = Pick<NetworkRule, 'host' | 'port'>;

const HTTPS_PORT = 443;
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const MAX_NAME_CHARACTERS = 253;

/**
 * Reads `packages.example.com`, `*.example.com:8443`, `10.0.0.5:4873`, `[2001:db8::1]:443`; 443 where no port is given.
 * Null when it is none of these: a name outside ASCII is written in its `xn--` form.
 */
export function parseHostAndPort(text: string): HostAndPort | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(text);
  if (match === null) return null;
  const [, address, name, port] = match;
  const number = port === undefined ? HTTPS_PORT : Number(port);
  if (number < 1 || number > 65_535) return null;
  if (address !== undefined)
    return address.includes(':') ? { host: normalHost(address), port: number } : null;
  const host = normalHost(name ?? '');
  const plain = host.startsWith('*.') ? host.slice(2) : host;
  const isName = plain.length <= MAX_NAME_CHARACTERS && plain.split('.').every((label) => LABEL.test(label));
  // `*.com` would be a list of everything.
  const isTooWide = host.startsWith('*.') && !plain.includes('.');
  return isName && !isTooWide ? { host, port: number } : null;
}

/** One spelling of a host: lower case, without the dot of the root. */
export const normalHost = (host: string): string => host.toLowerCase().replace(/\.$/, '');

/** The rule that lets a connection to this host and port through; null when none does. */
export function networkRuleFor(
  rules: readonly NetworkRule[],
  { host, port }: HostAndPort,
): NetworkRule | null {
  const wanted = normalHost(host);
  const fits = (rule: NetworkRule): boolean =>
    rule.port === port &&
    (rule.host.startsWith('*.')
      ? wanted.endsWith(rule.host.slice(1)) && wanted.length > rule.host.length - 1
      : wanted === rule.host);
  const all = rules.filter(fits);
  return all.find((rule) => rule.allowPrivate) ?? all[0] ?? null;
}
