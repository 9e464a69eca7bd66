/** Which addresses lie on this machine, in its network, or nowhere in particular. */
import { BlockList, isIP } from 'node:net';

/** IANA's special-purpose registry; what is not assigned to anybody is refused with the rest. */
const NOT_PUBLIC_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Holds the metadata services of clouds.
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** Of global unicast (2000::/3): what is reserved, or carries an IPv4 address that would not be looked at. */
const NOT_PUBLIC_V6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const notPublicV4 = new BlockList();
for (const [network, bits] of NOT_PUBLIC_V4) notPublicV4.addSubnet(network, bits, 'ipv4');
const globalV6 = new BlockList();
globalV6.addSubnet('2000::', 3, 'ipv6');
const notPublicV6 = new BlockList();
for (const [network, bits] of NOT_PUBLIC_V6) notPublicV6.addSubnet(network, bits, 'ipv6');

/**
 * Whether anybody on the internet is meant by the address. False for loopback, private, link-local, metadata,
 * multicast, reserved and IPv4-in-IPv6 ones, and for what is no address.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !notPublicV4.check(address, 'ipv4');
    case 6:
      // A zone names a link, so it is never public; mapped and translated addresses lie outside 2000::/3.
      return !address.includes('%') && globalV6.check(address, 'ipv6') && !notPublicV6.check(address, 'ipv6');
    default:
      return false;
  }
}
