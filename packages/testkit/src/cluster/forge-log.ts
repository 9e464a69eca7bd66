/**
 * The forge's own record as the checker's provider log. Which operation a push belongs to is read from the pushed
 * commit (its Agent-Run-ID trailer), never from what the pusher said of it.
 */
import { createHash } from 'node:crypto';
import { parseId } from '@headgate/domain';
import type { ClientBase } from 'pg';
import type { ProviderCall } from '../checker/model.js';
import type { BareRepository } from '../github/bare-repository.js';
import { git } from '../github/git-command.js';

/** One visible push of an agent's result. */
export interface AgentPush {
  readonly branch: string;
  readonly before: string | null;
  readonly after: string | null;
  /** Named by the commit; null when it names none. */
  readonly runId: string | null;
  /** Id of the files; null when the branch was deleted. */
  readonly tree: string | null;
}

const AGENT_BRANCHES = 'refs/heads/agent/';

export async function agentPushes(forge: BareRepository): Promise<readonly AgentPush[]> {
  const pushes = (await forge.pushes()).filter(({ ref }) => ref.startsWith(AGENT_BRANCHES));
  return Promise.all(
    pushes.map(async ({ ref, before, after }) => {
      const branch = ref.slice('refs/heads/'.length);
      if (after === null) return { branch, before, after, runId: null, tree: null };
      const [tree = '', ...message] = (await git(forge.path, ['log', '-1', '--format=%T%n%B', after])).split(
        '\n',
      );
      const trailer = message
        .map((line) => /^Agent-Run-ID: (run_\w+)$/.exec(line)?.[1])
        .find((id) => id !== undefined);
      return { branch, before, after, runId: trailer === undefined ? null : parseId('run', trailer), tree };
    }),
  );
}

interface PushOperation {
  readonly key: string;
  readonly runId: string;
  readonly ref: string | null;
  readonly commitSha: string | null;
  readonly expectedOldSha: string | null;
}

const OPERATIONS = `
  select key, run_id as "runId", intent ->> 'ref' as ref, intent ->> 'commitSha' as "commitSha",
         intent ->> 'expectedOldSha' as "expectedOldSha"
    from headgate.operation where kind = 'push'`;

/** What reached the forge, in its order. A push that no intent speaks of keeps the key null: the checker objects. */
export async function providerLog(
  forge: BareRepository,
  client: ClientBase,
): Promise<readonly ProviderCall[]> {
  const [pushes, { rows }] = await Promise.all([agentPushes(forge), client.query<PushOperation>(OPERATIONS)]);
  return pushes.map((push, index) => {
    const ref = `refs/heads/${push.branch}`;
    const named = rows.filter((row) => row.runId === push.runId && row.ref === ref);
    const operation = named.find((row) => row.commitSha === push.after) ?? named[0];
    return {
      seq: index + 1,
      monoNs: null,
      kind: 'push',
      target: ref,
      operationKey: operation?.key ?? null,
      content: createHash('sha256')
        .update(push.tree ?? 'deleted')
        .digest('hex'),
      visible: push.before !== push.after,
      compareAndSet:
        operation === undefined ? null : { expected: operation.expectedOldSha, before: push.before },
    };
  });
}
