/**
 * `@anthropic-ai/sandbox-runtime` inside bubblewrap: the command sees what bubblewrap shows, and besides may make no
 * Unix socket and no io_uring, by the library's filter of system calls. For those who want that filter.
 *
 *   worker ─► bwrap ─► init ─► [relay] ─► the library's bwrap ─► its init ─► filter ─► the command
 *             └─ ours: files, network, limits, its end ─┘        └─ the library's ─┘
 *
 * By itself the library shows all files but a deny-list, limits nothing, starts its proxies in the worker's process
 * and lets a network be shared between commands. So all that is promised is kept by our sandbox around it, which is
 * that of `bubblewrap` but for one thing: the library makes user namespaces, so they cannot be switched off. Instead
 * their number is held to the fewest with which it starts, found by trying; none is left for the command. Nothing of
 * the library runs in the worker.
 *
 * Who dies, and what follows: as with bubblewrap; the library's processes are some of init's. What asks the command to
 * stop goes by them: bubblewrap hands no signal on, so the command is looked for in the innermost PID namespace.
 *
 * Memory is promised only with a control group: /dev inside is the library's, and memory without a size.
 */
import { Bubblewrap } from '../bubblewrap/bubblewrap.js';
import type { Probe, SandboxProcess, SandboxProvider, SandboxSpec } from '../port.js';
import { type ProcessIdentity, signalProcess } from '../process-identity.js';
import { confined } from './confined.js';
import { innermostCommand } from './innermost-command.js';
import { findLibrary, LIBRARY_VERSION } from './library.js';

/** Two for each bubblewrap and one for the filter, in the versions that were seen; fewer in later ones. */
const FEWEST_NAMESPACES = 3;
const MOST_NAMESPACES = 8;
/** Its shells and inits, and before the command Node with its threads. */
const OWN_PROCESSES = 32;
/** What the kernel says of one namespace too many. */
const TOO_FEW = /No space left on device|ENOSPC/;

export class SandboxRuntime implements SandboxProvider {
  readonly name = 'sandbox-runtime';
  readonly isolation = 'sandbox-runtime';
  readonly mayRunUntrusted = true;
  readonly hasNetworkList = true;
  readonly #controlGroups: boolean;
  /** Known once the probe has found it. */
  #outer: Bubblewrap | null = null;

  constructor(options: { readonly controlGroups?: boolean } = {}) {
    this.#controlGroups = options.controlGroups ?? true;
  }

  async probe(): Promise<Probe> {
    const library = findLibrary();
    if (library.kind === 'missing') return { ...library, kind: 'unavailable' };
    for (let userNamespaces = FEWEST_NAMESPACES; ; userNamespaces += 1) {
      const outer = new Bubblewrap({
        controlGroups: this.#controlGroups,
        inner: {
          name: this.name,
          userNamespaces,
          processes: OWN_PROCESSES,
          confine: (spec, processLimits) => confined(spec, processLimits, library),
        },
      });
      const probe = await outer.probe();
      const isTooFew = probe.kind === 'unavailable' && TOO_FEW.test(probe.detail);
      if (isTooFew && userNamespaces < MOST_NAMESPACES) continue;
      if (probe.kind === 'unavailable') return probe;
      this.#outer = outer;
      return { ...probe, detail: `${LIBRARY_VERSION} inside ${probe.detail}` };
    }
  }

  start(spec: SandboxSpec): SandboxProcess {
    if (this.#outer === null) throw new Error('sandbox-runtime was not probed, or does not work here');
    const running = this.#outer.start(spec);
    let init: ProcessIdentity | null = null;
    void running.started.then((start) => {
      if (start.kind === 'started') init = start.identity.processes[0] ?? null;
    });
    return {
      ...running,
      terminate: () => {
        const command = init === null ? null : innermostCommand(init);
        if (command === null || !signalProcess(command, 'SIGTERM')) running.terminate();
      },
    };
  }
}
