/** Counting what the demo promises, from the outside: the API's lists, and the branches that git has. */
import { gitOutput } from '@headgate/git';
import type { Client, Receipt, Run } from '@headgate/sdk';

export interface Found {
  readonly runs: number;
  readonly branches: number;
  readonly receipts: number;
  /** Receipts that made a run. */
  readonly admitted: number;
  /** Runs that the receipts name. */
  readonly namedRuns: number;
  /** Pushes that took effect. */
  readonly pushes: number;
  readonly attempts: number;
}

export async function countEverything(options: {
  readonly client: Client;
  readonly deliveryId: string;
  readonly runId: string;
  readonly repositoryPath: string;
  readonly headSha: string;
}): Promise<Found> {
  const { client, deliveryId, runId, repositoryPath, headSha } = options;
  const run = await client.runs.get(runId);
  const receipts = await collect<Receipt>(client.receipts.all({ eventId: deliveryId, limit: 200 }));
  const runs = await collect<Run>(client.runs.all({ taskId: run.taskId, limit: 200 }));
  return {
    runs: runs.filter(({ inputVersion }) => inputVersion === headSha).length,
    branches: await branchesOn(repositoryPath, headSha),
    receipts: receipts.length,
    admitted: receipts.filter(({ reasonCode }) => reasonCode === 'ADMITTED').length,
    namedRuns: new Set(receipts.map(({ execution }) => execution.runId)).size,
    pushes: run.operations.filter(({ kind, status }) => kind === 'push' && status === 'confirmed').length,
    attempts: run.attempts.length,
  };
}

/** One of each, whatever was broken. */
export const isAsPromised = (found: Found, deliveries: number): boolean =>
  found.runs === 1 &&
  found.branches === 1 &&
  found.receipts === deliveries &&
  found.admitted === 1 &&
  found.namedRuns === 1 &&
  found.pushes === 1;

/** Branches of agents whose newest commit stands on that commit. */
async function branchesOn(gitDir: string, headSha: string): Promise<number> {
  const said = await gitOutput({
    gitDir,
    args: ['for-each-ref', '--format=%(parent) %(refname)', 'refs/heads/agent/'],
  });
  return said
    .toString('utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${headSha} `)).length;
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}
