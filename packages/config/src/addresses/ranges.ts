/** Address ranges as people write them: `10.0.0.0/8`, `fd00::/8`, or one address. */
import { BlockList, isIP } from 'node:net';

interface AddressRange {
  readonly address: string;
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

export const isAddressRange = (text: string): boolean => readAddressRange(text) !== null;

export function readAddressRange(text: string): AddressRange | null {
  const [address = '', length, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return null;
  const bits = version === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : -1;
  return prefix < 0 || prefix > bits ? null : { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' };
}

/** Whether an address lies in one of the ranges; those that cannot be read hold nothing. */
export const isWithin = (address: string, ranges: readonly string[]): boolean =>
  holds(listOf(ranges), address);

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of ranges) {
    const range = readAddressRange(text);
    if (range !== null) list.addSubnet(range.address, range.prefix, range.family);
  }
  return list;
}

function holds(list: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** What no address of the public internet is in (IANA's special-purpose registries, IPv4). */
const NOT_PUBLIC_IPV4 = listOf([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Link-local, and with it the metadata services of clouds.
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]);
/** Global unicast is `2000::/3`; all else (loopback, unique local, mapped and translated IPv4) is not public. */
const GLOBAL_IPV6 = listOf(['2000::/3']);
const NOT_PUBLIC_IPV6 = listOf(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

/**
 * Whether anybody on the internet is meant by the address. False for loopback, private, link-local, metadata,
 * multicast, reserved and IPv4-in-IPv6 ones, and for what is no address.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !holds(NOT_PUBLIC_IPV4, address);
    case 6:
      // A zone names a link, so it is never public.
      return !address.includes('%') && holds(GLOBAL_IPV6, address) && !holds(NOT_PUBLIC_IPV6, address);
    default:
      return false;
  }
}
