/** `headgate intake`, `scheduler`, `worker`, `reconciler`, `console`: one service, alone, as often as you like. */
import type { Capabilities } from '@headgate/domain';
import type { MakeService } from '@headgate/service';
import { type Command, InvalidArgumentError } from 'commander';
import { CommandEnd, EXIT } from '../exit.js';
import { settingsOf } from '../instance/find.js';
import { loadService, SERVICE_NAMES, type ServiceName } from '../services.js';
import { portTaken } from '../up/port-holder.js';
import type { CommandContext } from './command.js';
import { given, positiveInteger } from './options.js';

const WHAT: Readonly<Record<ServiceName, string>> = {
  intake: 'webhooks, manual calls, schedules',
  scheduler: 'chooses what starts, within limits and fairly',
  worker: 'runs agents under leases',
  reconciler: 'repairs what a crash left, scans, retention',
  console: 'the API and the web console',
};
const MAX_SLOTS = 1_000;

interface WorkerCommandOptions {
  readonly queue?: readonly string[];
  readonly slots?: number;
  readonly name?: string;
  readonly offer?: Capabilities;
}

export function addServices(program: Command, context: CommandContext): void {
  for (const name of SERVICE_NAMES) {
    const command = program
      .command(name)
      .description(`the ${name} service alone: ${WHAT[name]} (needs DATABASE_URL)`);
    if (name === 'worker') addWorkerOptions(command);
    command.action(async (options: WorkerCommandOptions) => {
      // It ends by its own signal handlers, in order and bounded.
      context.onInterrupt(() => {});
      await runAlone(name, await makerFor(name, options), context);
    });
  }
}

function addWorkerOptions(command: Command): void {
  command
    .option('--queue <id>', 'join this queue only; may be repeated', (id, before: string[] = []) => [
      ...before,
      id,
    ])
    .option('--slots <n>', 'runs at once; default: HEADGATE_WORKER_SLOTS, else 4', positiveInteger(MAX_SLOTS))
    .option('--name <name>', 'for people; default: host and process')
    .option(
      '--offer <name=value>',
      'a capability that cannot be probed: gpu=true, zone=eu; may be repeated',
      offer,
    );
}

async function makerFor(name: ServiceName, options: WorkerCommandOptions): Promise<MakeService> {
  if (name !== 'worker') return loadService(name);
  const { createWorker } = await import('@headgate/worker');
  const { queue, slots, name: worker, offer: offers } = options;
  return (context) => createWorker(context, given({ queues: queue, slots, name: worker, offers }));
}

/** Runs until a signal ends the process. */
async function runAlone(name: ServiceName, make: MakeService, context: CommandContext): Promise<never> {
  const settings = settingsOf(context);
  const { runService } = await import('@headgate/service');
  try {
    await runService(name, make);
  } catch (fault) {
    const isTaken = fault instanceof Error && 'code' in fault && fault.code === 'EADDRINUSE';
    if (!isTaken) throw fault;
    throw new CommandEnd(EXIT.negative, portTaken(settings.port), 'Set HEADGATE_PORT to a free port.', {
      cause: fault,
    });
  }
  return new Promise<never>(() => {});
}

/** `gpu=true` is a flag, `memory=8` a number, anything else text. */
function offer(text: string, before: Capabilities = {}): Capabilities {
  const [, name, value] = /^([A-Za-z][\w-]*)=(.+)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Write name=value.');
  const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : null;
  return { ...before, [name]: value === 'true' ? true : (number ?? value) };
}
