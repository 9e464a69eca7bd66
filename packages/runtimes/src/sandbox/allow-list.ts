/**
 * What a sandbox shows of this machine whatever it runs: the system's programs and libraries, certificates, Node, and
 * the agent that ships with Headgate. Never `/`, a home, or the data folder (security 2): what is not named here
 * does not exist inside.
 */
import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folders of software that all of it is readable by everybody. */
const SYSTEM_FOLDERS = ['/usr', '/nix/store'];

/** On most systems links into /usr, on some folders of their own. */
const PROGRAM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** Settings that programs of the system cannot do without. Nothing here is a secret, or names a user. */
const SETTINGS = [
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'alternatives',
  'ssl/certs',
  'ssl/openssl.cnf',
  'ca-certificates.conf',
  'pki/tls/certs',
  'pki/ca-trust/extracted',
  'crypto-policies',
  'mime.types',
  'perl',
  'python3',
  'fonts',
].map((name) => join('/etc', name));

/** Debian keeps the settings of each Java there, and links to them from /usr. */
const JAVA_SETTINGS = /^java-\d+-openjdk$/;

export interface SystemFiles {
  readonly readOnly: readonly string[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

export function systemFiles(): SystemFiles {
  const readOnly = SYSTEM_FOLDERS.filter((path) => existsSync(path));
  const links: { path: string; target: string }[] = [];
  for (const path of PROGRAM_FOLDERS) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() === true) links.push({ path, target: readlinkSync(path) });
    else if (stats?.isDirectory() === true) readOnly.push(path);
  }
  readOnly.push(...SETTINGS.filter((path) => existsSync(path)), ...javaSettings());
  return { readOnly, links };
}

/** The system folder that shows the path to every sandbox; null when none does. */
export function systemFolderOf(path: string): string | null {
  const folders = [...SYSTEM_FOLDERS, ...PROGRAM_FOLDERS];
  return folders.find((folder) => isInside(path, folder)) ?? null;
}

/**
 * What the command itself needs beside the system's: its program, where that lies elsewhere; the Node that we run on,
 * with the modules installed beside it; our example agent. A program of several files that lies outside these
 * places does not find the others.
 */
export function programFiles(argv: readonly string[]): readonly string[] {
  const program = argv[0] ?? '';
  const paths = [...nodeFiles(), ...exampleAgentFiles(), ...(isAbsolute(program) ? [program] : [])];
  return paths.filter((path) => existsSync(path) && systemFolderOf(realpathSync(path)) === null);
}

export const isInside = (path: string, folder: string): boolean => {
  const way = relative(folder, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
};

function javaSettings(): readonly string[] {
  try {
    return readdirSync('/etc')
      .filter((name) => JAVA_SETTINGS.test(name))
      .map((name) => join('/etc', name));
  } catch {
    return [];
  }
}

/** Of an installation by itself (nvm, a tool cache): its programs and modules. Of any other place the one file. */
function nodeFiles(): readonly string[] {
  const bin = dirname(process.execPath);
  const modules = join(dirname(bin), 'lib', 'node_modules');
  return existsSync(join(modules, 'npm')) ? [bin, modules] : [process.execPath];
}

/** Its folder, and the package.json that says how Node is to read it. */
function exampleAgentFiles(): readonly string[] {
  for (const place of ['../example-agent', '../../dist/example-agent']) {
    const folder = fileURLToPath(new URL(place, import.meta.url));
    if (!existsSync(join(folder, 'main.js'))) continue;
    for (let above = dirname(folder); above !== dirname(above); above = dirname(above)) {
      const manifest = join(above, 'package.json');
      if (existsSync(manifest)) return [folder, manifest];
    }
    return [folder];
  }
  return [];
}
