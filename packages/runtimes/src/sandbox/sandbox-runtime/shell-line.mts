/**
 * Runs in the outer sandbox, before the command: asks the library for the line of shell that starts the command in the
 * inner one, prints it, and is gone. It must be asked there, for it looks at the files and the user it runs as.
 *
 *   node shell-line.mjs '{"libraryFolder":…,"filterProgram":…,"bwrap":…,"writable":[…],"argv":[…]}'
 *
 * Uses nothing but Node and the library: no other file of ours is in the sandbox.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What `confine` hands in. */
interface Request {
  readonly libraryFolder: string;
  readonly filterProgram: string;
  readonly bwrap: string;
  readonly writable: readonly string[];
  readonly argv: readonly string[];
}

/** The part of the library that is used; of its version and no other (`library.ts`). */
interface Library {
  wrapCommandWithSandboxLinux(what: {
    readonly command: string;
    readonly needsNetworkRestriction: boolean;
    readonly writeConfig: {
      readonly allowOnly: readonly string[];
      readonly denyWithinAllow: readonly string[];
    };
    readonly seccompConfig: { readonly applyPath: string };
    readonly ripgrepConfig: { readonly command: string };
    readonly bwrapPath: string;
    readonly binShell: string;
  }): Promise<string>;
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

const { libraryFolder, filterProgram, bwrap, writable, argv }: Request = JSON.parse(process.argv[2] ?? '');
const file = join(libraryFolder, 'dist', 'sandbox', 'linux-sandbox-utils.js');
const library: Library = await import(pathToFileURL(file).href);
const line = await library.wrapCommandWithSandboxLinux({
  command: `exec ${argv.map(quoted).join(' ')}`,
  // The outer sandbox has no network but its own loopback, where the relay listens.
  needsNetworkRestriction: false,
  writeConfig: { allowOnly: writable, denyWithinAllow: [] },
  seccompConfig: { applyPath: filterProgram },
  // It would look for files that its user must not have changed; what an agent may change is judged by the collector.
  ripgrepConfig: { command: 'true' },
  bwrapPath: bwrap,
  binShell: '/bin/sh',
});
if (!line.includes(filterProgram)) throw new Error('the library left out its filter of system calls');
process.stdout.write(line);
