import { join } from 'node:path';

/** Where things lie in the data folder (surfaces: contract for scripts). */
export interface DataPaths {
  readonly dataDir: string;
  readonly mirrors: string;
  readonly workspaces: string;
  /** `{run}/{attempt}/…` below. */
  readonly artifacts: string;
  readonly logs: string;
}

export const dataPaths = (dataDir: string): DataPaths => ({
  dataDir,
  mirrors: join(dataDir, 'mirrors'),
  workspaces: join(dataDir, 'workspaces'),
  artifacts: join(dataDir, 'artifacts'),
  logs: join(dataDir, 'logs'),
});
