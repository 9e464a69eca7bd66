/** A worker in a process of its own, for one queue: one that can be killed without taking the instance along. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '@headgate/config';
import { dieWithParent } from '@headgate/embedded';
import type { Connections } from '../instance/connections.js';

export interface WorkerProcess {
  readonly pid: number;
  readonly name: string;
  hasExited(): boolean;
  /** SIGKILL: it can do nothing more, not even notice. */
  kill(): Promise<void>;
  /** Asks it to go in order; kills it if it does not. */
  stop(): Promise<void>;
}

const STOP_WITHIN_MS = 5_000;

export function startWorkerProcess(options: {
  readonly name: string;
  readonly queue: string;
  readonly offer: string;
  readonly settings: Settings;
  readonly connections: Connections;
  readonly env: NodeJS.ProcessEnv;
}): WorkerProcess {
  const { name, queue, offer, settings, connections } = options;
  const entry = fileURLToPath(new URL('../main.js', import.meta.url));
  const words = ['worker', '--name', name, '--queue', queue, '--offer', offer, '--slots', '1'];
  const tied = dieWithParent(process.execPath, [entry, ...words], 'SIGKILL');
  const log = openSync(join(settings.dataDir, 'logs', `${name}.log`), 'a', 0o600);
  const child = spawn(tied.program, [...tied.args], {
    stdio: ['ignore', log, log],
    // A Ctrl-C reaches us, and we end it.
    detached: true,
    env: {
      ...options.env,
      DATABASE_URL: '',
      DATABASE_URL_SERVICE: connections.serviceUrl,
      DATABASE_URL_API: connections.apiUrl,
      REDIS_URL: connections.redisUrl ?? '',
      HEADGATE_DATA_DIR: settings.dataDir,
      HEADGATE_CONFIG: settings.configPath,
      HEADGATE_HOST: '127.0.0.1',
      HEADGATE_PORT: '0',
    },
  });
  closeSync(log);
  child.on('error', () => {});
  return {
    pid: child.pid ?? 0,
    name,
    hasExited: () => isOver(child),
    kill: () => end(child, 'SIGKILL'),
    stop: async () => {
      const timer = setTimeout(() => void end(child, 'SIGKILL'), STOP_WITHIN_MS);
      await end(child, 'SIGTERM');
      clearTimeout(timer);
    },
  };
}

const isOver = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (isOver(child) || child.pid === undefined) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
