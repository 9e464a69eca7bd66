/**
 * Where git reads and pushes. `local:PATH` is a bare repository below the data folder, another path is
 * below the folder of the configuration file; the rest goes over a network and counts as a real forge.
 */
import { isAbsolute, resolve, sep } from 'node:path';
import type { Complaint } from '../problems/index.js';

const SCP_LIKE = /^[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:(?!\/\/).+$/;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;

export function checkRepositoryUrl(url: string): Complaint | null {
  if (url.startsWith('-'))
    return { message: `"${url}" reads as an option of git`, fix: 'Write a path or a url.' };
  if (SCP_LIKE.test(url)) return null;
  const scheme = SCHEME.exec(url)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      return null;
    case 'local': {
      const path = url.slice('local:'.length);
      const isBelow = path !== '' && !isAbsolute(path) && !path.split(/[\\/]/).includes('..');
      return isBelow
        ? null
        : { message: `"${url}" leads out of the data folder`, fix: 'Write a path below it.' };
    }
    case 'file':
      return null;
    case 'https':
    case 'ssh':
      return checkNetworkUrl(url, scheme);
    default:
      return { message: `git over ${scheme} is not allowed`, fix: 'Use https, ssh, file or a path.' };
  }
}

function checkNetworkUrl(url: string, scheme: 'https' | 'ssh'): Complaint | null {
  if (!URL.canParse(url))
    return { message: 'the url is not valid', fix: 'Write https://host/owner/name.git.' };
  const { hostname, username, password } = new URL(url);
  if (hostname === '') return { message: 'the url names no host', fix: 'Write https://host/owner/name.git.' };
  // The value is not repeated: it may be a token.
  if (password !== '' || (scheme === 'https' && username !== '')) {
    return {
      message: 'the url holds credentials',
      fix: 'Remove them: git uses the credential helper of the machine.',
    };
  }
  return null;
}

/** True when git reaches it over a network. */
export function isNetworkUrl(url: string): boolean {
  if (SCP_LIKE.test(url)) return true;
  const scheme = SCHEME.exec(url)?.[1]?.toLowerCase();
  return scheme !== undefined && scheme !== 'local' && scheme !== 'file';
}

export interface Folders {
  /** The folder of the configuration file. */
  readonly baseDir: string;
  readonly dataDir: string;
}

/** The url as the rest of the product reads it: absolute paths, network urls as written. */
export function resolveRepositoryUrl(url: string, { baseDir, dataDir }: Folders): string {
  if (isNetworkUrl(url) || /^file:/i.test(url)) return url;
  return url.startsWith('local:')
    ? resolve(dataDir, `.${sep}${url.slice('local:'.length)}`)
    : resolve(baseDir, url);
}
