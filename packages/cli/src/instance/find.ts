/** Which instance a command talks to: HEADGATE_URL and HEADGATE_TOKEN, else the one of the data folder. */
import { readSettings, type Settings } from '@headgate/config';
import { type Client, createClient } from '@headgate/sdk';
import type { CommandContext } from '../commands/command.js';
import { CommandEnd, EXIT } from '../exit.js';
import { problemLines } from '../terminal/problems.js';
import { readAdminToken, readInstance } from './files.js';

export interface FoundInstance {
  readonly url: string;
  /** Empty: none is known; what needs one is answered 401. */
  readonly token: string;
  readonly settings: Settings;
}

/** The environment, checked. Ends the command when it cannot work. */
export function settingsOf({
  env,
  cwd,
  terminal,
}: Pick<CommandContext, 'env' | 'cwd' | 'terminal'>): Settings {
  const read = readSettings(env, cwd);
  if (read.ok) return read.settings;
  throw new CommandEnd(EXIT.usage, problemLines(read.problems, 'The environment', terminal));
}

/** Ends the command when there is none. That it answers is not checked. */
export function findInstance(context: Pick<CommandContext, 'env' | 'cwd' | 'terminal'>): FoundInstance {
  const settings = settingsOf(context);
  const instance = readInstance(settings.dataDir);
  const url = context.env['HEADGATE_URL'] || instance?.url;
  if (url === undefined) {
    throw new CommandEnd(
      EXIT.notReached,
      `No instance runs on ${settings.dataDir}.`,
      'Start one with "headgate up", or set HEADGATE_URL and HEADGATE_TOKEN.',
    );
  }
  if (!URL.canParse(url)) {
    throw new CommandEnd(EXIT.usage, 'HEADGATE_URL is not a url.', 'Write http://host:port.');
  }
  // The folder's token belongs to the folder's instance: it is not handed to another address.
  const isFolders = instance !== null && new URL(instance.url).origin === new URL(url).origin;
  const token = context.env['HEADGATE_TOKEN'] || (isFolders ? readAdminToken(settings.dataDir) : null);
  return { url: url.replace(/\/+$/, ''), token: token ?? '', settings };
}

export function clientOf({ url, token }: FoundInstance): Client {
  return createClient({ url, token });
}
