/** Lets a private Postgres say of every statement how it was planned and what it cost. */
import type { PostgresServer } from '@headgate/embedded';
import { withClient } from '../services/prepare-template.js';

/** What Postgres is told, for every new session of the database. Notices reach the client that ran the statement. */
const SETTINGS: Readonly<Record<string, string>> = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_wal': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
};

export interface ExplainOptions {
  /** `generic`: every statement by the plan that Postgres would keep for any values. Default: as it chooses. */
  readonly plans?: 'as-chosen' | 'generic';
  /** Default: that of a private server. */
  readonly database?: string;
  /** false: no more, for sessions that begin from now on. Default true. */
  readonly isOn?: boolean;
}

/**
 * From now on each new session explains what it runs (auto_explain, part of every Postgres distribution). Statements
 * are run once, by their names and with their values, as the product runs them.
 */
export async function explainEverything(server: PostgresServer, options: ExplainOptions = {}): Promise<void> {
  if (server.superuserUrl === null) throw new Error('only a server of our own may be told to explain itself');
  const { database = 'headgate', isOn = true } = options;
  const mode = options.plans === 'generic' ? 'force_generic_plan' : 'auto';
  await withClient(server.superuserUrl, async (superuser) => {
    const settings = {
      ...SETTINGS,
      plan_cache_mode: mode,
      ...(isOn ? {} : { 'auto_explain.log_min_duration': '-1' }),
    };
    for (const [name, value] of Object.entries(settings)) {
      await superuser.query(`alter database ${database} set ${name} = '${value}'`);
    }
  });
}
