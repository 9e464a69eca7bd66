import { createHmac } from 'node:crypto';
import { signBody, verifySignature } from '@headgate/sources';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signed } from './deliveries.js';

const BODY = Buffer.from('{"zen":"Ünïcode 🌊"}');

describe('signature of a delivery', () => {
  it('is the one that GitHub documents for its example', () => {
    expect(signBody(Buffer.from('Hello, World!'), "It's a Secret to Everybody")).toBe(
      'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    );
  });

  it('is accepted under any secret of the set, and says which, so that a rotation can be seen to end', () => {
    expect(verifySignature(BODY, signed(BODY, 'old'), ['new', 'old'])).toEqual({ ok: true, secretIndex: 1 });
    expect(verifySignature(BODY, signed(BODY, 'new'), ['new', 'old'])).toEqual({ ok: true, secretIndex: 0 });
    expect(verifySignature(BODY, signed(BODY, 'retired'), ['new', 'old'])).toEqual({ ok: false });
  });

  it('covers every byte', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (body, at, flip) => {
          const changed = Uint8Array.from(body);
          const index = at % body.length;
          changed[index] = (changed[index] ?? 0) ^ flip;
          expect(verifySignature(body, signed(body, 's'), ['s']).ok).toBe(true);
          expect(verifySignature(changed, signed(body, 's'), ['s']).ok).toBe(false);
        },
      ),
    );
  });

  it.each([
    ['is missing', undefined],
    ['is empty', ''],
    ['is too short', 'sha256=abcd'],
    ['has no prefix', createHmac('sha256', 's').update(BODY).digest('hex')],
    ['is the older SHA-1 one', `sha1=${createHmac('sha1', 's').update(BODY).digest('hex')}`],
    ['has something after it', `${signBody(BODY, 's')}0`],
    ['has digits that are none', `sha256=${'g'.repeat(64)}`],
  ])('is refused when the header %s', (_, header) => {
    expect(verifySignature(BODY, { 'x-hub-signature-256': header }, ['s'])).toEqual({ ok: false });
  });

  it('is refused when the header comes twice', () => {
    const twice = [signBody(BODY, 's'), signBody(BODY, 's')];
    expect(verifySignature(BODY, { 'x-hub-signature-256': twice }, ['s'])).toEqual({ ok: false });
  });

  it('is refused without secrets, and an empty secret opens nothing', () => {
    expect(verifySignature(BODY, signed(BODY, 's'), [])).toEqual({ ok: false });
    expect(verifySignature(BODY, signed(BODY, ''), [''])).toEqual({ ok: false });
  });

  it('is found whatever the case of the header', () => {
    expect(verifySignature(BODY, { 'X-Hub-Signature-256': signBody(BODY, 's') }, ['s']).ok).toBe(true);
  });
});
