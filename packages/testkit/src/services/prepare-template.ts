import { randomBytes } from 'node:crypto';
import { migrate, withRole } from '@headgate/store';
import { Client } from 'pg';

/** The connection strings of one database, one for each login role of the product. */
export interface RoleUrls {
  readonly ownerUrl: string;
  readonly serviceUrl: string;
  readonly apiUrl: string;
}

export const SERVICE_ROLE = 'headgate_service';
export const API_ROLE = 'headgate_api';

/**
 * Makes one database ready for use: the store's migrations, which also make the two login roles (they are the
 * cluster's, and get new passwords). The seam between this kit and the store is here and nowhere else.
 */
export async function prepareDatabase(ownerUrl: string): Promise<RoleUrls> {
  const password = randomBytes(18).toString('hex');
  await migrate({ ownerUrl, passwords: { service: password, api: password } });
  return {
    ownerUrl,
    serviceUrl: withRole(ownerUrl, SERVICE_ROLE, password),
    apiUrl: withRole(ownerUrl, API_ROLE, password),
  };
}

export const TEMPLATE_NAME = 'headgate_template';

/**
 * Makes the template that every test database is copied from, and closes it to connections: a copy needs it
 * idle, and no test may write to it.
 */
export async function prepareTemplate(ownerUrl: string): Promise<RoleUrls> {
  await withClient(ownerUrl, async (client) => {
    await client.query(`drop database if exists ${TEMPLATE_NAME} with (force)`);
    await client.query(`create database ${TEMPLATE_NAME}`);
  });
  const urls = await prepareDatabase(inDatabase(ownerUrl, TEMPLATE_NAME));
  await withClient(ownerUrl, (client) =>
    client.query(`alter database ${TEMPLATE_NAME} allow_connections false`),
  );
  return urls;
}

/** The same server and role, another database. */
export function inDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.toString();
}

export async function withClient<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  // A backend that is killed while nobody asks it anything must not end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
