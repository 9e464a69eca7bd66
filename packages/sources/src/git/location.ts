/** Where a repository is, as it was written in the configuration: a path, file, https or ssh. Nothing else. */
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export type GitLocation =
  | { readonly kind: 'local'; readonly path: string }
  | { readonly kind: 'remote'; readonly url: string }
  | { readonly kind: 'refused'; readonly detail: string };

const CONTROL = /\p{Cc}/u;
/** git@host:owner/name.git; neither part may begin with a dash, which ssh would take for an option. */
const SCP_LIKE = /^[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:[^-]/;
const HAS_SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

export function parseGitLocation(url: string): GitLocation {
  if (url === '' || url.startsWith('-') || CONTROL.test(url)) {
    return { kind: 'refused', detail: 'The repository url is empty or not one.' };
  }
  if (SCP_LIKE.test(url)) return { kind: 'remote', url };
  if (!HAS_SCHEME.test(url)) return { kind: 'local', path: resolve(url) };
  return URL.canParse(url) ? parseUrl(new URL(url), url) : refusedScheme(url);
}

function parseUrl(parsed: URL, url: string): GitLocation {
  switch (parsed.protocol) {
    case 'file:':
      return parsed.host === ''
        ? { kind: 'local', path: fileURLToPath(parsed) }
        : { kind: 'refused', detail: 'A file url must not name a host.' };
    case 'https:':
    case 'ssh:':
      return parsed.hostname === '' || parsed.hostname.startsWith('-') || parsed.username.startsWith('-')
        ? { kind: 'refused', detail: 'The repository url names no usable host.' }
        : { kind: 'remote', url };
    default:
      return refusedScheme(url);
  }
}

const refusedScheme = (url: string): GitLocation => ({
  kind: 'refused',
  detail: `Repositories are read by path, file, https or ssh, not by ${url.slice(0, url.indexOf(':'))}.`,
});

/** For messages: without a user name or token. */
export function withoutCredentials(text: string): string {
  return text.replaceAll(/(\w+:\/\/)[^/@\s]*@/g, '$1');
}

/** The stable id of a repository that no forge has numbered: a digest of where it is. */
export function gitRepositoryId(url: string): string {
  const location = parseGitLocation(url);
  const name = location.kind === 'local' ? location.path : withoutCredentials(url);
  const digest = createHash('sha256')
    .update(name.replace(/(?:\/|\.git)+$/, ''), 'utf8')
    .digest('hex');
  return `git:${digest.slice(0, 32)}`;
}

/** What `git check-ref-format` lets pass as a branch. A name it refuses cannot exist, and could be a pattern. */
export function isBranchName(name: string): boolean {
  return (
    name !== '' &&
    name.length <= 1024 &&
    !/[\p{Cc}\p{Surrogate} ~^:?*[\\]|\.\.|@\{|\/\//u.test(name) &&
    !/^[-/]|[/.]$|(?:^|\/)\.|\.lock(?:\/|$)/.test(name)
  );
}
