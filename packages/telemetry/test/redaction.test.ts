import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createLogger,
  cutBetweenSecrets,
  holdsSecret,
  redactJson,
  redactText,
  registerSecret,
  registerUrlSecrets,
  runLogger,
} from '../src/index.js';

const forget: (() => void)[] = [];
afterEach(() => {
  for (const one of forget.splice(0)) one();
});
const guard = (secret: string): void => {
  forget.push(registerSecret(secret));
};

function loggerInto(lines: string[]) {
  return createLogger('test', { level: 'trace', destination: { write: (line: string) => lines.push(line) } });
}

describe('redaction by value', () => {
  const secret = 'pa"ss/w+rd=\\ü&<1>%';
  const spellings: Record<string, string> = {
    plain: secret,
    'JSON-escaped': JSON.stringify(secret),
    'JSON in JSON': JSON.stringify(JSON.stringify({ secret })),
    'base64 of it': Buffer.from(secret).toString('base64'),
    'base64url of it': Buffer.from(secret).toString('base64url'),
    hexadecimal: Buffer.from(secret).toString('hex'),
    'hexadecimal in capitals': Buffer.from(secret).toString('hex').toUpperCase(),
    'JSON kept to ASCII': JSON.stringify(secret).replace('ü', '\\u00fc'),
    'in HTML': secret
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;'),
    'URL-encoded': encodeURIComponent(secret),
    'URL-encoded in lower case': encodeURIComponent(secret).replace(/%../g, (hex) => hex.toLowerCase()),
    'form-encoded': new URLSearchParams({ a: secret }).toString(),
  };
  for (const [name, text] of Object.entries(spellings)) {
    it(`removes a registered secret that is ${name}`, () => {
      expect(redactText(text)).toBe(text);
      guard(secret);
      const cleaned = redactText(`before ${text} after`);
      expect(cleaned).toContain('[redacted]');
      expect(cleaned).not.toContain(text);
      expect(cleaned.startsWith('before ')).toBe(true);
      expect(cleaned.endsWith(' after')).toBe(true);
    });
  }

  it('removes a secret inside the base64 of a longer text, at any offset', () => {
    const token = 'ghs_0123456789abcdefghijklmnopqrstuv';
    guard(token);
    for (const user of ['', 'a', 'ab', 'abc', 'x-access-token']) {
      const header = Buffer.from(`${user}:${token}!`).toString('base64');
      const cleaned = redactText(header);
      expect(cleaned).toContain('[redacted]');
      expect(Buffer.from(cleaned.replace('[redacted]', ''), 'base64').toString()).not.toContain(
        token.slice(4, 20),
      );
    }
  });

  it('removes the base64 of a long secret that is wrapped into lines', () => {
    const long = `tok_${'0123456789abcdef'.repeat(8)}`;
    guard(long);
    for (const columns of [64, 76]) {
      const wrapped =
        Buffer.from(long)
          .toString('base64')
          .match(new RegExp(`.{1,${columns}}`, 'g')) ?? [];
      expect(wrapped.length).toBeGreaterThan(2);
      for (const line of wrapped.slice(0, -1)) expect(redactText(line)).toBe('[redacted]');
    }
  });

  it('guards the credentials of connection URLs, and no everyday word', () => {
    const urls = registerUrlSecrets(
      'postgres://svc:p%40ss-of-the-service@db/x',
      'redis://:postgres@r',
      'no url',
      null,
    );
    expect(redactText('p@ss-of-the-service p%40ss-of-the-service')).toBe('[redacted] [redacted]');
    expect(redactText('connect to redis://:postgres@r, a postgres')).toBe(
      'connect to redis://[redacted]@r, a postgres',
    );
    urls();
  });

  it('never says to cut a text within a secret, nor before it can tell', () => {
    const token = 'token-of-an-hour-and-more';
    expect(cutBetweenSecrets('x'.repeat(10), 10)).toBe(10);
    guard(token);
    expect(cutBetweenSecrets('x'.repeat(10), 10)).toBeNull();
    const text = `${'x'.repeat(8)}${token}${'y'.repeat(200)}`;
    for (let at = 0; at < 60; at += 1) {
      const cut = cutBetweenSecrets(text, at);
      expect(cut).toBe(at > 8 && at < 8 + token.length ? 8 + token.length : at);
    }
  });

  it('finds secrets in texts and in values, and leaves the rest of a value as it is', () => {
    const at = new Date(0);
    const value = { a: ['x', 1n, null, at], b: { c: 'token-of-an-hour' } };
    expect(holdsSecret('token-of-an-hour')).toBe(false);
    expect(redactJson(value)).toBe(value);
    guard('token-of-an-hour');
    expect(holdsSecret('a token-of-an-hour b')).toBe(true);
    expect(holdsSecret('a token-of-an-hour b')).toBe(true);
    expect(redactJson(value)).toEqual({ a: ['x', 1n, null, at], b: { c: '[redacted]' } });
  });

  it('guards a key of many lines line by line', () => {
    const line = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC';
    guard(`-----BEGIN PRIVATE KEY-----\n${line}\n-----END PRIVATE KEY-----`);
    expect(redactText(`read: ${line}`)).toBe('read: [redacted]');
  });

  it('forgets a token only when every holder let go of it', () => {
    const first = registerSecret('token-of-an-hour');
    const second = registerSecret('token-of-an-hour');
    first();
    first();
    expect(redactText('token-of-an-hour')).toBe('[redacted]');
    second();
    expect(redactText('token-of-an-hour')).toBe('token-of-an-hour');
  });

  it('leaves alone a value too short to be a secret', () => {
    guard('abc');
    expect(redactText('abc')).toBe('abc');
  });

  it('INV-TE2: no random secret survives in a log line, wherever it was put, and the line stays JSON', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8, maxLength: 40, unit: 'grapheme' }), (value) => {
        // Words that the line itself is made of are no secrets.
        fc.pre(/^\S*[^\w\s":,{}[\]-]\S*$/.test(value) && !'[redacted]'.includes(value));
        const stop = registerSecret(value);
        try {
          const lines: string[] = [];
          loggerInto(lines).info(
            { field: `x${value}y`, deep: { list: [value] }, [value]: 1 },
            `saw ${value}`,
          );
          const [line = ''] = lines;
          const parsed: unknown = JSON.parse(line);
          return (
            !line.includes(value) && !JSON.stringify(parsed).includes(JSON.stringify(value).slice(1, -1))
          );
        } finally {
          stop();
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('log lines', () => {
  it('redacts credentials by their key at any depth, registered or not', () => {
    const lines: string[] = [];
    loggerInto(lines).info({
      req: { headers: { authorization: 'Bearer abc"d', 'x-hub-signature-256': 'sha256=00', host: 'h' } },
      err: { config: { deep: { more: { Token: 't', 'set-cookie': ['a=1', 'b=2'] } } } },
      tokens: 12,
    });
    const parsed = JSON.parse(lines[0] ?? '');
    expect(parsed.req.headers).toEqual({
      authorization: '[redacted]',
      'x-hub-signature-256': '[redacted]',
      host: 'h',
    });
    expect(parsed.err.config.deep.more).toEqual({ Token: '[redacted]', 'set-cookie': '[redacted]' });
    expect(parsed.tokens).toBe(12);
  });

  it('Q32: a run logger puts the identity of its run on every line', () => {
    const lines: string[] = [];
    const logger = runLogger(loggerInto(lines), {
      tenant: 'default',
      workKey: '42/pr/7',
      runId: 'run_1',
      attempt: 2,
      leaseId: 'lease_1',
      workerId: 'wkr_1',
      traceId: 'abc',
    });
    logger.info('one');
    logger.child({ step: 'clone' }).warn('two');
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({
        name: 'test',
        tenant: 'default',
        workKey: '42/pr/7',
        runId: 'run_1',
        attempt: 2,
        leaseId: 'lease_1',
        workerId: 'wkr_1',
        traceId: 'abc',
      });
    }
    expect(lines).toHaveLength(2);
  });

  it('leaves out identity that is not known yet', () => {
    const lines: string[] = [];
    runLogger(loggerInto(lines), { runId: 'run_1', traceId: null }).info('x');
    expect(JSON.parse(lines[0] ?? '')).not.toHaveProperty('traceId');
  });

  it('refuses a level that does not exist, naming those that do', () => {
    expect(() => createLogger('x', { level: 'loud' })).toThrow(/"loud".*trace.*silent/);
  });
});
