/** `headgate trigger`: a person asks for work. */
import { type PriorityName, PRIORITY_NAMES } from '@headgate/domain';
import type { WorkRequest } from '@headgate/sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { clientOf, findInstance } from '../instance/find.js';
import { waitForRun } from '../instance/wait-for-run.js';
import { answerLines } from '../send/say.js';
import { progressLine } from '../terminal/status.js';
import type { CommandContext } from './command.js';
import { addInput, durationMs, given } from './options.js';
import { endOfRun } from './run-end.js';

interface TriggerOptions {
  readonly repository?: string;
  readonly target?: WorkRequest['target'];
  readonly key?: string;
  readonly inputVersion?: string;
  readonly input?: Readonly<Record<string, unknown>>;
  readonly priority?: PriorityName | number;
  readonly reason?: string;
  readonly idempotencyKey?: string;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly json?: boolean;
}
