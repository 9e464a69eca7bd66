/**
 * The passwords of the two login roles. Generated once and kept in `{data}/database.json` (0600), or given as
 * DATABASE_URL_SERVICE and DATABASE_URL_API.
 */
import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface RoleUrls {
  readonly ownerUrl: string;
  readonly serviceUrl: string;
  readonly apiUrl: string;
  readonly passwords: { readonly service: string; readonly api: string };
}

export interface RoleUrlOptions {
  readonly ownerUrl: string;
  readonly dataDir: string;
  readonly serviceUrl?: string | null;
  readonly apiUrl?: string | null;
}

/** The three connection strings of an installation; makes and keeps passwords where none are given. */
export async function roleUrls(options: RoleUrlOptions): Promise<RoleUrls> {
  const kept = (await readKept(options.dataDir)) ?? (await makeKept(options.dataDir));
  const given = { service: passwordOf(options.serviceUrl), api: passwordOf(options.apiUrl) };
  const passwords = { service: given.service ?? kept.service, api: given.api ?? kept.api };
  return {
    ownerUrl: options.ownerUrl,
    serviceUrl: options.serviceUrl ?? withRole(options.ownerUrl, 'headgate_service', passwords.service),
    apiUrl: options.apiUrl ?? withRole(options.ownerUrl, 'headgate_api', passwords.api),
    passwords,
  };
}

/** The owner's URL with another role in it. */
export function withRole(ownerUrl: string, role: string, password: string): string {
  const url = new URL(ownerUrl);
  url.username = role;
  url.password = password;
  return url.toString();
}

const passwordOf = (url: string | null | undefined): string | null => {
  if (url == null) return null;
  const { password } = new URL(url);
  return password === '' ? null : decodeURIComponent(password);
};

const fileOf = (dataDir: string): string => join(dataDir, 'database.json');

async function readKept(dataDir: string): Promise<RoleUrls['passwords'] | null> {
  try {
    const kept: unknown = JSON.parse(await readFile(fileOf(dataDir), 'utf8'));
    if (typeof kept !== 'object' || kept === null) return null;
    const { service, api } = kept as Record<string, unknown>;
    return typeof service === 'string' && typeof api === 'string' ? { service, api } : null;
  } catch {
    return null;
  }
}

/** Two processes may start at once on one folder: the hard link is made once, and the loser reads the winner's. */
async function makeKept(dataDir: string): Promise<RoleUrls['passwords']> {
  const passwords = {
    service: randomBytes(24).toString('base64url'),
    api: randomBytes(24).toString('base64url'),
  };
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const next = `${fileOf(dataDir)}.${randomBytes(6).toString('hex')}`;
  await writeFile(next, `${JSON.stringify(passwords, null, 2)}\n`, { mode: 0o600 });
  try {
    await link(next, fileOf(dataDir));
    return passwords;
  } catch {
    const kept = await readKept(dataDir);
    if (kept !== null) return kept;
    await rename(next, fileOf(dataDir)); // what stood there could not be read
    return passwords;
  } finally {
    await rm(next, { force: true });
  }
}
