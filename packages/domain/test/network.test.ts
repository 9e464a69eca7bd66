import { type NetworkRule, networkRuleFor, parseHostAndPort } from '@headgate/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const rule = (text: string, allowPrivate = false): NetworkRule => {
  const read = parseHostAndPort(text);
  if (read === null) throw new Error(`${text} is no rule`);
  return { ...read, allowPrivate };
};

describe('parseHostAndPort', () => {
  it.each([
    ['packages.example.com', { host: 'packages.example.com', port: 443 }],
    ['Packages.Example.com.:80', { host: 'packages.example.com', port: 80 }],
    ['*.example.com:8443', { host: '*.example.com', port: 8443 }],
    ['10.0.0.5:4873', { host: '10.0.0.5', port: 4873 }],
    ['[2001:DB8::1]:443', { host: '2001:db8::1', port: 443 }],
    ['localhost:1', { host: 'localhost', port: 1 }],
  ])('reads %s', (text, read) => expect(parseHostAndPort(text)).toEqual(read));

  it.each([
    '',
    '*',
    '*.com',
    'a.*.com',
    'https://example.com',
    'example.com/path',
    'user@example.com',
    'example.com:0',
    'example.com:65536',
    'example.com:',
    'exa mple.com',
    'bücher.example',
    '-a.example',
    'a..example',
    '2001:db8::1',
    '[example.com]:443',
    'example.com:443\r\nHost: evil',
  ])('refuses %j', (text) => expect(parseHostAndPort(text)).toBeNull());
});

describe('networkRuleFor', () => {
  const rules = [rule('packages.example.com'), rule('*.example.com:8443'), rule('10.0.0.5:80', true)];
  const lets = (text: string): boolean => networkRuleFor(rules, rule(text)) !== null;

  it('lets through exactly the names and ports that are listed', () => {
    expect(
      ['packages.example.com', 'a.example.com:8443', 'a.b.example.com:8443', '10.0.0.5:80'].map(lets),
    ).toEqual(Array(4).fill(true));
    expect(
      [
        'packages.example.com:80',
        'example.com',
        'evil-packages.example.com',
        'packages.example.com.evil.example',
        'example.com:8443',
        'evilexample.com:8443',
        'a.example.com:443',
      ].map(lets),
    ).toEqual(Array(7).fill(false));
  });

  it('takes the wider of two rules for the same place', () => {
    expect(
      networkRuleFor([rule('a.example.com'), rule('a.example.com', true)], rule('a.example.com')),
    ).toMatchObject({
      allowPrivate: true,
    });
  });

  it('a pattern never lets through a name that does not end in it at a dot', () => {
    const label = fc.stringMatching(/^[a-z0-9]{1,8}$/);
    fc.assert(
      fc.property(
        fc.array(label, { minLength: 2, maxLength: 4 }),
        fc.array(label, { minLength: 1, maxLength: 6 }),
        (below, name) => {
          const pattern = rule(`*.${below.join('.')}`);
          const host = name.join('.');
          const isBelow = host.endsWith(`.${below.join('.')}`);
          expect(networkRuleFor([pattern], { host, port: 443 }) !== null).toBe(isBelow);
        },
      ),
    );
  });
});
