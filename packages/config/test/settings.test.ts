import { ENVIRONMENT, readSettings } from '@headgate/config';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const settingsOf = (env: Record<string, string>) => {
  const result = readSettings(env, '/work');
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.settings;
};

const problemsOf = (env: Record<string, string>) => {
  const result = readSettings(env, '/work');
  return result.ok ? [] : result.problems.map(({ path, message, fix }) => `${path} ${message}. ${fix}`);
};

describe('settings', () => {
  it('have a default for everything, and an empty variable counts as not set', () => {
    const nothing = settingsOf({});
    expect(nothing).toEqual({
      host: '127.0.0.1',
      port: 8080,
      portIsExplicit: false,
      adminToken: null,
      configPath: '/work/headgate.yaml',
      configPathIsExplicit: false,
      dataDir: '/work/.headgate',
      databaseUrl: null,
      databaseUrlService: null,
      databaseUrlApi: null,
      dbPool: 'session',
      redisUrl: null,
      logLevel: 'info',
      exampleWebhookSecret: 'example-webhook-secret',
      exampleSigningSecret: 'whsec_ZXhhbXBsZS13ZWJob29rLXNlY3JldA==',
    });
    expect(settingsOf(Object.fromEntries(ENVIRONMENT.map(({ name }) => [name, ''])))).toEqual(nothing);
  });

  it('take what is set', () => {
    expect(
      settingsOf({
        HEADGATE_PORT: '9000',
        HEADGATE_HOST: '::1',
        HEADGATE_ADMIN_TOKEN: 'hg_abc',
        HEADGATE_CONFIG: '/etc/headgate.yaml',
        HEADGATE_DATA_DIR: 'data',
        DATABASE_URL: 'postgres://me:secret@db/headgate',
        HEADGATE_DB_POOL: 'transaction',
        REDIS_URL: 'rediss://cache:6380/1',
        LOG_LEVEL: 'debug',
        HEADGATE_EXAMPLE_WEBHOOK_SECRET: 'own',
      }),
    ).toMatchObject({
      host: '::1',
      port: 9000,
      portIsExplicit: true,
      adminToken: 'hg_abc',
      configPath: '/etc/headgate.yaml',
      configPathIsExplicit: true,
      dataDir: '/work/data',
      databaseUrl: 'postgres://me:secret@db/headgate',
      dbPool: 'transaction',
      redisUrl: 'rediss://cache:6380/1',
      logLevel: 'debug',
      exampleWebhookSecret: 'own',
    });
  });

  it('say everything that is wrong at once, and never repeat a url, which may hold a password', () => {
    expect(
      problemsOf({
        HEADGATE_PORT: '80800',
        HEADGATE_HOST: 'http://x',
        HEADGATE_ADMIN_TOKEN: 'a b',
        DATABASE_URL: 'mysql://me:secret@db/x',
        DATABASE_URL_API: 'secret',
        HEADGATE_DB_POOL: 'transactions',
        REDIS_URL: 'http://secret',
        LOG_LEVEL: 'INFO',
      }),
    ).toEqual([
      'HEADGATE_PORT "80800" is not a port. Write a number from 1 to 65535.',
      'HEADGATE_ADMIN_TOKEN holds spaces or special characters. Use letters, digits and signs only.',
      'HEADGATE_HOST "http://x" is not an address. Write 127.0.0.1, 0.0.0.0 or a host name, without a port.',
      'DATABASE_URL does not begin with postgres://. Write postgres://user@host/…',
      'DATABASE_URL_API is not a url. Write postgres://user@host/…',
      'HEADGATE_DB_POOL "transactions" is not possible. Did you mean "transaction"?',
      'REDIS_URL does not begin with redis://. Write redis://user@host/…',
      'LOG_LEVEL "INFO" is not possible. Did you mean "info"?',
    ]);
  });

  it('any port from 0 to 65535 is taken, and nothing else', () => {
    fc.assert(
      fc.property(fc.integer({ min: -70_000, max: 140_000 }), (port) => {
        const result = readSettings({ HEADGATE_PORT: String(port) });
        expect(result.ok).toBe(port >= 0 && port <= 65_535);
        if (result.ok) expect(result.settings.port).toBe(port);
      }),
    );
  });

  it('every variable is listed once, with a sentence', () => {
    expect(new Set(ENVIRONMENT.map(({ name }) => name)).size).toBe(ENVIRONMENT.length);
    for (const { description } of ENVIRONMENT) expect(description).toMatch(/^[A-Za-z].*\.$/);
  });
});
