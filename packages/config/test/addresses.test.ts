import { isAddressRange, isPublicAddress, isWithin } from '@headgate/config';
import { describe, expect, it } from 'vitest';

describe('addresses', () => {
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '198.18.0.1',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    'fc00::1',
    'ff02::1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    'localhost',
    '',
  ])('security 11: %j is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['8.8.8.8', '172.32.0.1', '11.0.0.1', '2606:4700::1111'])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it('security 11: ranges are an address or a network, and hold what lies in them', () => {
    expect(isWithin('10.1.2.3', ['10.0.0.0/8'])).toBe(true);
    expect(isWithin('11.1.2.3', ['10.0.0.0/8', 'fd00::/8'])).toBe(false);
    expect(isWithin('fd12::1', ['fd00::/8'])).toBe(true);
    expect(isWithin('127.0.0.1', ['127.0.0.1'])).toBe(true);
    expect(isWithin('127.0.0.2', ['127.0.0.1'])).toBe(false);
    for (const wrong of ['10.0.0.0/33', '10.0.0', 'fd00::/129', 'host', '10.0.0.0/8/8', '10.0.0.0/-1', '']) {
      expect(isAddressRange(wrong), wrong).toBe(false);
    }
  });
});
