/** What this machine offers: Node, git, sandboxes, the data folder, the port, instrumentation. */
import { existsSync, statSync } from 'node:fs';
import type { Settings } from '@headgate/config';
import { runGit } from '@headgate/git';
import {
  type ChosenSandbox,
  chooseSandbox,
  type ProbedSandbox,
  probeOtherSandboxes,
} from '@headgate/runtimes';
import { selfTestInstrumentation } from '@headgate/telemetry';
import { runningInstance } from '../instance/running.js';
import { portHolder, portTaken } from '../up/port-holder.js';
import { type Check, failed, ok, skipped, warning } from './check.js';

export async function checkMachine(settings: Settings): Promise<readonly Check[]> {
  return [
    nodeVersion(),
    await git(),
    ...(await sandboxes()),
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

async function sandboxes(): Promise<readonly Check[]> {
  try {
    const chosen = await chooseSandbox();
    return sandboxChecks(chosen, await probeOtherSandboxes(chosen));
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return [failed('sandbox', said, 'Set HEADGATE_SANDBOX_PROVIDER to auto; see docs/sandboxes.md.')];
  }
}

/** Which provider runs agents, what became of each that was asked, and what it means for agents. */
export function sandboxChecks(
  chosen: ChosenSandbox,
  others: readonly ProbedSandbox[] = [],
): readonly Check[] {
  const taken = chosen.provider.name;
  const isIsolated = chosen.provider.mayRunUntrusted;
  const probes = [...chosen.probes, ...others].map((probed) => sandboxCheck(probed, taken, isIsolated));
  if (chosen.warning === null) return probes;
  const fix = chosen.provider.remedy ?? 'See docs/sandboxes.md.';
  const message =
    'Agents are not isolated here: only the example agent may run, all else waits with NO_ISOLATION.';
  return [...probes, warning('isolation', message, fix)];
}

function sandboxCheck(
  { name, hasNetworkList, probe }: ProbedSandbox,
  taken: string,
  isIsolated: boolean,
): Check {
  const id = `sandbox.${name}`;
  if (probe.kind === 'available') {
    const what = `${probe.detail}; it limits ${probe.limits.join(', ')}; network lists: ${hasNetworkList ? 'yes' : 'no'}`;
    return ok(id, name === taken ? `${name} runs the agents: ${what}` : `${name} would work too: ${what}`);
  }
  const said = `${name} does not work: ${probe.detail}`;
  // One that nobody waits for is no fault of the machine.
  if (isIsolated) return skipped(id, `${said}; ${taken} is taken`, probe.remedy);
  return warning(id, said, probe.remedy);
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
