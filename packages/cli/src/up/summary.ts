/** What a newcomer reads once everything runs. */
import type { Capabilities, Policy } from '@headgate/domain';
import type { RedisServer, RedisUnavailable } from '@headgate/embedded';
import { shortPath } from '../terminal/problems.js';
import { pairs } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import type { StartedDatabase } from './servers.js';

export interface SummaryFacts {
  readonly policy: Policy;
  readonly policyVersion: number;
  readonly configPath: string;
  readonly dataDir: string;
  readonly logFile: string;
  readonly database: StartedDatabase;
  readonly redis: RedisServer | RedisUnavailable;
  readonly hasExample: boolean;
  /** What the worker of this process offers. */
  readonly capabilities: Capabilities;
}

/** The one line that scripts wait for. */
export const readyLine = (url: string, token: string): string =>
  `Headgate is ready: ${url}/login#token=${token}`;

export function summary(facts: SummaryFacts, terminal: Terminal): string {
  const { colors } = terminal;
  const { database, redis, policy } = facts;
  const lines: (readonly [string, string])[] = [
    ['console', `the address above; the token is in it, and in ${shortPath(`${facts.dataDir}/admin-token`)}`],
    [
      'routes',
      `${policy.routes.map(({ id }) => id).join(', ')} (${shortPath(facts.configPath)}, version ${facts.policyVersion}; changes are taken at once)`,
    ],
    [
      'database',
      `${database.isPrivate ? 'private ' : ''}Postgres ${database.version.split(' ')[0]} on port ${database.port}`,
    ],
    [
      'hints',
      redis.unavailable === undefined
        ? `${redis.isPrivate ? 'private ' : ''}Redis on port ${redis.port}`
        : colors.yellow('none, see below'),
    ],
    ['sandbox', sandboxOf(facts.capabilities, colors)],
    ['log', shortPath(facts.logFile)],
  ];
  return [
    '',
    pairs(terminal, lines),
    '',
    ...warnings(facts, terminal),
    ...(facts.hasExample ? suggestions(terminal) : []),
    'Ctrl-C ends everything. What happens from here on, one line each:',
    '',
  ].join('\n');
}

/** Only our own example agent runs in less than a sandbox. */
const NO_SANDBOX = new Set<unknown>(['pid-namespace', 'process-group', 'none']);

function sandboxOf({ isolation, limits }: Capabilities, colors: Terminal['colors']): string {
  if (NO_SANDBOX.has(isolation)) return colors.yellow('none, see below');
  return `${String(isolation)}${Array.isArray(limits) ? `; limits on ${limits.join(', ')}` : ''}`;
}

function warnings({ redis, policy, capabilities }: SummaryFacts, { colors }: Terminal): readonly string[] {
  const lines: string[] = [];
  if (redis.unavailable !== undefined) {
    lines.push(`${colors.yellow('Without Redis.')} ${redis.unavailable} ${redis.advice}`, '');
  }
  if (NO_SANDBOX.has(capabilities['isolation']) && policy.agents.some((agent) => agent.trustedExample)) {
    lines.push(
      `${colors.yellow('The example agent runs without isolation.')} It ships with Headgate and does two small repairs, always`,
      'in the same way. Agents of your own run in a sandbox or not at all: headgate doctor says what this machine can.',
      '',
    );
  }
  return lines;
}

const suggestions = ({ colors }: Terminal): readonly string[] => [
  'Try, in another terminal:',
  `  ${colors.bold('npx headgate send check_run.completed --wait')}   a signed GitHub delivery becomes a run and a branch`,
  `  ${colors.bold('npx headgate why <anything>')}                    why it ran, or did not`,
  `  ${colors.bold('npx headgate demo break')}                        break everything, and see one run and one branch`,
  '',
];
