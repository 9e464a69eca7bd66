/** Services as they are deployed: a process each, their own main.js with the register hook, the example agent. */
import { type Policy, parseId } from '@headgate/domain';
import {
  atEnd,
  type BareRepository,
  bareRepository,
  eventually,
  removeDataFolder,
  type SpawnedService,
  spawnService,
  temporaryDataFolder,
  testDatabase,
} from '@headgate/testkit';
import { deliver, type Reply } from '../world/deliveries.js';
import { policyFrom, TEST_SECRET } from '../world/policy.js';
import { aWorld, type World } from '../world/world.js';

export type ServiceName = 'intake' | 'scheduler' | 'worker' | 'reconciler';

export interface Deployed {
  readonly process: SpawnedService;
  readonly url: string;
}

export interface Deployment {
  readonly world: World;
  readonly forge: BareRepository;
  start(name: ServiceName, env?: Readonly<Record<string, string>>): Promise<Deployed>;
  /** A failed check on the head of `topic`; gives the run that it led to. */
  fail(intake: Deployed, headSha: string): Promise<{ readonly runId: string; readonly reply: Reply }>;
  /** Another commit with a defect. */
  defect(): Promise<string>;
  reaches(runId: string, status: string): Promise<void>;
}

const DEFECT = (n: number): string =>
  `// FIXME: \`${n} - b\` should be \`${n} + b\`\nexport const sum = (b) => ${n} - b;\n`;
const PATIENCE_MS = 60_000;

export async function deployment(options: {
  readonly env: Readonly<Record<string, string>>;
  readonly agentEnv?: Readonly<Record<string, string>>;
  /** Changes what the file says. */
  readonly policy?: (policy: Policy) => Partial<Omit<Policy, 'digest'>>;
}): Promise<Deployment> {
  const folder = temporaryDataFolder();
  atEnd(() => removeDataFolder(folder));
  const forge = await bareRepository({ commits: 1 });
  atEnd(() => forge.remove());
  const urls = await testDatabase();
  const policy = await policyFrom(yaml(forge.path, options.agentEnv ?? {}));
  const world = await aWorld(
    { ...policy, ...options.policy?.(policy), digest: `${policy.digest}-observed` },
    urls,
  );
  let defects = 0;
  return {
    world,
    forge,
    start: async (name, env = {}) => {
      const process = await spawnService({
        entry: `services/${name}/dist/main.js`,
        nodeArgs: ['--import', new URL('../../packages/telemetry/dist/register.js', import.meta.url).href],
        env: {
          DATABASE_URL_SERVICE: urls.serviceUrl,
          HEADGATE_PORT: '0',
          HEADGATE_DATA_DIR: folder,
          OTEL_SERVICE_NAME: `headgate-${name}`,
          TEST_SECRET,
          LOG_LEVEL: 'debug',
          ...options.env,
          ...env,
        },
      });
      const [, url = ''] = await process.waitForOutput(
        /"url":"(http:[^"]+)"[^\n]*"msg":"[^"]*is ready"/,
        PATIENCE_MS,
      );
      return { process, url };
    },
    defect: () => {
      defects += 1;
      return forge.commit({ branch: 'topic', files: { 'sum.js': DEFECT(defects) } });
    },
    fail: async (intake, headSha) => {
      const reply = await deliver(intake.url, { headSha });
      const runId = reply.body['runId'];
      if (typeof runId !== 'string') throw new Error(`no run: ${JSON.stringify(reply.body)}`);
      return { runId, reply };
    },
    reaches: async (runId, status) => {
      const seen = async () => {
        const [row] = await world.sql<{ status: string; detail: string | null }>(
          'select status, reason_detail as detail from headgate.run where id = $1',
          [parseId('run', runId)],
        );
        return row;
      };
      await eventually(async () => ((await seen())?.status === status ? true : null), {
        what: `${runId} is ${status}`,
        deadlineMs: PATIENCE_MS,
      }).catch(async (fault: unknown) => {
        throw new Error(`${String(fault)}; it is ${JSON.stringify(await seen())}`);
      });
    },
  };
}

const yaml = (forgePath: string, agentEnv: Readonly<Record<string, string>>): string => `
version: 1
sources:
  forge:
    kind: github
    webhookSecrets: [ "\${TEST_SECRET}" ]
    repositories: { acme/api: { url: ${JSON.stringify(forgePath)}, defaultBranch: main } }
agents: { fixer: { runtime: command, command: [ headgate-example-agent ], env: ${JSON.stringify(agentEnv)} } }
routes:
  fix:
    on: [ github.check_run.completed ]
    when: event.check_run.conclusion == "failure"
    retry: { maxAttempts: 2, backoff: 50ms }
`;
