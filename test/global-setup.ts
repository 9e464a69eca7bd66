import { openSharedServers, provideTestRedis, sweepAbandonedRuns } from '@headgate/testkit/shared-servers';
import type { TestProject } from 'vitest/node';

/** Once for a whole run: lets tests share one Postgres and one Redis, which start when the first test asks. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await sweepAbandonedRuns();
  await provideTestRedis();
  const servers = await openSharedServers();
  project.provide('sharedServers', servers.address);
  return () => servers.stop();
}
