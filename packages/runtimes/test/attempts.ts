/** Attempts as a worker lays them out, and what commands do in them. */
import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  type AttemptFolders,
  agentEnvironment,
  filesOfAttempt,
  foldersIn,
  type SandboxExit,
  type SandboxLimits,
  type SandboxProvider,
  type SandboxSpec,
} from '@headgate/runtimes';

let counter = 0;
/** Unique on the machine, so that other tests' processes are never counted. */
export function unique(): string {
  counter += 1;
  return `${process.pid}${counter}`;
}

/** In a data folder that only its owner may enter, as `headgate up` makes it. */
export async function attemptIn(place: string): Promise<AttemptFolders> {
  const data = join(place, 'data');
  const folders = foldersIn(join(data, 'workspaces', 'run_1', '1'));
  for (const folder of [
    folders.workspace,
    folders.input,
    folders.output,
    folders.home,
    folders.tmp,
    folders.worker,
  ]) {
    await mkdir(folder, { recursive: true });
  }
  await writeFile(join(folders.input, 'run.json'), '{"asked":"this"}\n', { mode: 0o444 });
  await chmod(folders.input, 0o555);
  await chmod(data, 0o700);
  return folders;
}

export function specOf(
  folders: AttemptFolders,
  script: string,
  changes: { readonly env?: Readonly<Record<string, string>>; readonly limits?: Partial<SandboxLimits> } = {},
): SandboxSpec {
  const files = filesOfAttempt(folders.workspace);
  if (files === null) throw new Error('the folders are those of an attempt');
  return {
    argv: ['/bin/sh', '-c', script],
    cwd: folders.workspace,
    env: agentEnvironment(folders, changes.env),
    marker: `m-${unique()}`,
    files,
    ...(changes.limits === undefined ? {} : { limits: changes.limits }),
  };
}

export type Ended = SandboxExit & { readonly output: string };

/** Runs it to its end. */
export async function endOf(provider: SandboxProvider, spec: SandboxSpec): Promise<Ended> {
  const running = provider.start(spec);
  let output = '';
  for (const stream of [running.stdout, running.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  return { ...(await running.exited), output };
}

export interface OtherWorker {
  readonly pid: number;
  readonly started: Promise<unknown>;
  readonly ended: Promise<Ended>;
  kill(): Promise<void>;
}

interface WorkerAsked {
  readonly provider: string;
  readonly controlGroups?: boolean;
  readonly spec: SandboxSpec;
  /** Words before its command, that end by executing it. */
  readonly under?: readonly string[];
}

/** A worker in a process of its own, as another user if one is given. The package must be built. */
export function otherWorker({ under = [], ...what }: WorkerAsked, uid?: number): OtherWorker {
  const program = fileURLToPath(new URL('./sandbox-worker.mjs', import.meta.url));
  const [command = '', ...args] = [...under, process.execPath, program, JSON.stringify(what)];
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: '/',
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async (): Promise<unknown> => {
    const next = await lines.next();
    return next.done === true ? { kind: 'worker ended' } : JSON.parse(next.value);
  };
  const started = line();
  return {
    pid: child.pid ?? 0,
    started,
    ended: started.then(line) as Promise<Ended>,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
