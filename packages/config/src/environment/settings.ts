/** What the environment says about one process: addresses, folders, servers. Checked once, at the start. */
import { resolve } from 'node:path';
import { type Problem, suggest } from '../problems/index.js';
import { EXAMPLE_SIGNING_SECRET, EXAMPLE_WEBHOOK_SECRET } from './variables.js';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export const DB_POOLS = ['session', 'transaction'] as const;
export type DbPool = (typeof DB_POOLS)[number];

export interface Settings {
  readonly host: string;
  readonly port: number;
  /** A port that was asked for and is taken is an error; the default one moves on. */
  readonly portIsExplicit: boolean;
  readonly adminToken: string | null;
  /** Absolute. */
  readonly configPath: string;
  readonly configPathIsExplicit: boolean;
  /** Absolute. */
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly databaseUrlService: string | null;
  readonly databaseUrlApi: string | null;
  readonly dbPool: DbPool;
  readonly redisUrl: string | null;
  readonly logLevel: LogLevel;
  readonly exampleWebhookSecret: string;
  readonly exampleSigningSecret: string;
}

export type SettingsResult =
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly problems: readonly Problem[] };

type Env = Readonly<Record<string, string | undefined>>;

const DEFAULT_PORT = 8080;
const POSTGRES = ['postgres:', 'postgresql:'];
const REDIS = ['redis:', 'rediss:'];

/** An empty variable counts as not set. `cwd` is where relative paths start. */
export function readSettings(env: Env, cwd: string = process.cwd()): SettingsResult {
  const problems: Problem[] = [];
  const get = (name: string): string | null => env[name] || null;
  const refuse = (name: string, message: string, fix: string): void => {
    problems.push({ path: name, line: null, column: null, message, fix });
  };
  const oneOf = <Word extends string>(name: string, words: readonly Word[], otherwise: Word): Word => {
    const written = get(name);
    if (written === null) return otherwise;
    const known = words.find((word) => word === written);
    if (known === undefined) refuse(name, `"${written}" is not possible`, suggest(written, words));
    return known ?? otherwise;
  };
  // The value is never repeated: it may hold a password.
  const url = (name: string, protocols: readonly string[]): string | null => {
    const written = get(name);
    if (written === null) return null;
    const form = `Write ${protocols[0]}//user@host/…`;
    if (!URL.canParse(written)) refuse(name, 'is not a url', form);
    else if (!protocols.includes(new URL(written).protocol))
      refuse(name, `does not begin with ${protocols[0]}//`, form);
    return written;
  };

  const port = readPort(get('HEADGATE_PORT'), refuse);
  const adminToken = get('HEADGATE_ADMIN_TOKEN');
  if (adminToken !== null && !/^[\x21-\x7e]+$/.test(adminToken)) {
    refuse(
      'HEADGATE_ADMIN_TOKEN',
      'holds spaces or special characters',
      'Use letters, digits and signs only.',
    );
  }
  const host = get('HEADGATE_HOST') ?? '127.0.0.1';
  if (!/^[A-Za-z0-9.:%_-]+$/.test(host)) {
    refuse(
      'HEADGATE_HOST',
      `"${host}" is not an address`,
      'Write 127.0.0.1, 0.0.0.0 or a host name, without a port.',
    );
  }
  const settings: Settings = {
    host,
    port: port ?? DEFAULT_PORT,
    portIsExplicit: port !== null,
    adminToken,
    configPath: resolve(cwd, get('HEADGATE_CONFIG') ?? 'headgate.yaml'),
    configPathIsExplicit: get('HEADGATE_CONFIG') !== null,
    dataDir: resolve(cwd, get('HEADGATE_DATA_DIR') ?? '.headgate'),
    databaseUrl: url('DATABASE_URL', POSTGRES),
    databaseUrlService: url('DATABASE_URL_SERVICE', POSTGRES),
    databaseUrlApi: url('DATABASE_URL_API', POSTGRES),
    dbPool: oneOf('HEADGATE_DB_POOL', DB_POOLS, 'session'),
    redisUrl: url('REDIS_URL', REDIS),
    logLevel: oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
    exampleWebhookSecret: get('HEADGATE_EXAMPLE_WEBHOOK_SECRET') ?? EXAMPLE_WEBHOOK_SECRET,
    exampleSigningSecret: get('HEADGATE_EXAMPLE_SIGNING_SECRET') ?? EXAMPLE_SIGNING_SECRET,
  };
  return problems.length > 0 ? { ok: false, problems } : { ok: true, settings };
}

function readPort(
  written: string | null,
  refuse: (name: string, message: string, fix: string) => void,
): number | null {
  if (written === null) return null;
  const port = /^\d{1,5}$/.test(written) ? Number(written) : -1;
  // 0 asks the system for a free port.
  if (port < 0 || port > 65_535) {
    refuse('HEADGATE_PORT', `"${written}" is not a port`, 'Write a number from 1 to 65535.');
    return null;
  }
  return port;
}
