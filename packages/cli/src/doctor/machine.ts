/** What this machine offers: Node, git, sandboxes, the data folder, the port, instrumentation. */
import { existsSync, statSync } from 'node:fs';
import type { Settings } from '@headgate/config';
import { runGit } from '@headgate/git';
import { type ChosenSandbox, chooseSandbox } from '@headgate/runtimes';
import { selfTestInstrumentation } from '@headgate/telemetry';
import { runningInstance } from '../instance/running.js';
import { portHolder, portTaken } from '../up/port-holder.js';
import { type Check, failed, ok, skipped, warning } from './check.js';

export async function checkMachine(settings: Settings): Promise<readonly Check[]> {
  return [
    nodeVersion(),
    await git(),
    ...sandboxChecks(await chooseSandbox()),
    dataFolder(settings.dataDir),
    await port(settings),
    await instrumentation(),
  ];
}

const OLDEST_NODE = [20, 19] as const;
const RECOMMENDED_NODE = 24;

function nodeVersion(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const isTooOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
  if (isTooOld)
    return failed(
      'node',
      `Node ${process.versions.node} is too old`,
      `Use Node ${OLDEST_NODE.join('.')} or later; ${RECOMMENDED_NODE} is recommended.`,
    );
  return ok(
    'node',
    `Node ${process.versions.node}${major < RECOMMENDED_NODE ? ` (works; ${RECOMMENDED_NODE} is recommended)` : ''}`,
  );
}

async function git(): Promise<Check> {
  const result = await runGit({ args: ['--version'] });
  return result.kind === 'exited' && result.code === 0
    ? ok('git', result.stdout.toString('utf8').trim())
    : failed('git', 'git does not run here', 'Install git: workers read and push with it.');
}

/** Each provider that was tried, and what it means for agents. */
export function sandboxChecks(chosen: ChosenSandbox): readonly Check[] {
  const probes = chosen.probes.map(({ name, probe }) =>
    probe.kind === 'available'
      ? ok(
          `sandbox.${name}`,
          `${name} works: ${probe.detail}; it limits ${probe.limits.join(', ')}; network lists: ${chosen.provider.hasNetworkList ? 'yes' : 'no'}`,
        )
      : warning(`sandbox.${name}`, `${name} does not work: ${probe.detail}`, probe.remedy),
  );
  return chosen.warning === null
    ? probes
    : [
        ...probes,
        warning(
          'isolation',
          'Agents are not isolated here: only the example agent may run, all else waits with NO_ISOLATION.',
          chosen.provider.remedy ?? 'See docs/sandboxes.md.',
        ),
      ];
}

/** Others must not read tokens, passwords and transcripts. */
const OTHERS = 0o077;

function dataFolder(dataDir: string): Check {
  if (!existsSync(dataDir)) return skipped('data-folder', `${dataDir} is not there yet`);
  const { mode, uid } = statSync(dataDir);
  if (uid !== process.getuid?.() && process.getuid?.() !== 0) {
    return failed(
      'data-folder',
      `${dataDir} belongs to another user`,
      'Set HEADGATE_DATA_DIR to a folder of yours.',
    );
  }
  return (mode & OTHERS) === 0
    ? ok('data-folder', `${dataDir} is closed to others`)
    : failed('data-folder', `${dataDir} is open to others`, `chmod 700 ${dataDir}`);
}

async function port(settings: Settings): Promise<Check> {
  const instance = await runningInstance(settings.dataDir);
  if (instance !== null)
    return ok('port', `an instance answers at ${instance.url} (process ${instance.pid})`);
  if (portHolder(settings.port) === null) return ok('port', `port ${settings.port} is free`);
  return settings.portIsExplicit
    ? failed('port', portTaken(settings.port), 'End it, or set HEADGATE_PORT to another port.')
    : warning(
        'port',
        portTaken(settings.port),
        '"headgate up" takes the next free one; set HEADGATE_PORT to choose.',
      );
}

async function instrumentation(): Promise<Check> {
  const { state, detail } = await selfTestInstrumentation();
  switch (state) {
    case 'working':
      return ok('tracing', detail);
    case 'off':
      return warning('tracing', detail, 'Start Headgate by "headgate" or "npm start", which load it first.');
    case 'broken':
      return failed('tracing', detail, 'Start Headgate by "headgate" or "npm start", which load it first.');
  }
}
