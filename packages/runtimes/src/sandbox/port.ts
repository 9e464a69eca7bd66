/** What runs a command so that nothing of it survives, and how far it shuts it in. */
import type { Readable } from 'node:stream';
import type { ExceededLimit, LimitName, SandboxLimits } from './limits.js';
import type { ProcessIdentity } from './process-identity.js';

/**
 * `bubblewrap`, `sandbox-runtime` and `container` show a command an allow-list of files and no network: they may
 * run users' commands. `pid-namespace` only guarantees that nothing survives; it hides no file, so it and `none`
 * may run our own example agent and nothing else.
 */
export type Isolation = 'bubblewrap' | 'sandbox-runtime' | 'container' | 'pid-namespace' | 'none';

export type Probe =
  | {
      readonly kind: 'available';
      readonly detail: string;
      /** The limits that were seen to hold here. */
      readonly limits: readonly LimitName[];
    }
  /** `remedy` is the one command or setting that mends it. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly remedy: string };

/** What a command sees of this machine's files beyond the system's programs. Absolute paths, as the command sees them. */
export interface SandboxFiles {
  /** The attempt's own. A sandbox may give them to another user. */
  readonly writable: readonly string[];
  readonly readOnly: readonly string[];
  /** Empty and writable, of a limited size, gone at the end. */
  readonly scratch: readonly string[];
}

export interface SandboxSpec {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment. Nothing is added but what the provider needs to find its processes again. */
  readonly env: Readonly<Record<string, string>>;
  /** Unique to this attempt: leftovers are found by it. */
  readonly marker: string;
  /** Left out: the working directory, to be read. Meaningless where nothing is hidden. */
  readonly files?: SandboxFiles;
  /** Over `defaultLimits`. Only those count that the probe named. */
  readonly limits?: Partial<SandboxLimits>;
  /** Of the proxy (`EgressProxy`) that is its only way out. Left out: it reaches nothing. */
  readonly proxySocket?: string;
}

/** Enough to end a sandbox from another thread or a later process, and never another process by mistake. */
export interface SandboxIdentity {
  readonly provider: string;
  readonly marker: string;
  /** In the order in which they are to be killed. */
  readonly processes: readonly ProcessIdentity[];
}

export type SandboxStart =
  | { readonly kind: 'started'; readonly identity: SandboxIdentity }
  | { readonly kind: 'start-failed'; readonly detail: string };

export interface SandboxExit {
  /** 128 + n when a signal ended it. */
  readonly code: number;
  /** The limit for which it was ended, if it was. */
  readonly exceeded?: ExceededLimit;
}

export interface SandboxProcess {
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles once the command is about to run, or can be seen not to. */
  readonly started: Promise<SandboxStart>;
  /** Settles when the command and all it started are gone. */
  readonly exited: Promise<SandboxExit>;
  /** Asks the command to stop. */
  terminate(): void;
  /** Ends everything now. */
  kill(): void;
}

export interface SandboxProvider {
  readonly name: string;
  readonly isolation: Isolation;
  /** Whether it may run what we did not write. */
  readonly mayRunUntrusted: boolean;
  /** Whether a command can be given a network list, and reaches nothing beside it. */
  readonly hasNetworkList: boolean;
  /** For a fall-back: the one command that would give this machine an isolating sandbox. `chooseSandbox` sets it. */
  remedy?: string;
  /** Tries it for real. */
  probe(): Promise<Probe>;
  /**
   * Call from the main thread only: the kernel ties the sandbox's life to the calling thread. Throws when the
   * specification asks for what it must not have.
   */
  start(spec: SandboxSpec): SandboxProcess;
}

/** The variable that carries the marker into every process of a sandbox. */
export const MARKER_VARIABLE = 'HEADGATE_SANDBOX';
