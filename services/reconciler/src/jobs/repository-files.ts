/**
 * Reads the `.headgate.yaml` files that signals wait for. The claim and the result are transactions of their own; in
 * between nothing is held (packages/store, repository-files). A reconciler that dies while it reads leaves a claim that
 * runs out after two minutes.
 */
import { readRepositoryFile } from '@headgate/config';
import { type ClaimedFile, type FileFinding, repositoryFiles } from '@headgate/store';
import { failPoint } from '@headgate/telemetry';
import type { Job, JobParts } from '../job.js';
import { readFileOf } from '../repository-files/read.js';

/** Longer than a head, a fetch and a read may take together. */
const CLAIM_MS = 120_000;
/** A broken file that something waits for is looked at again so often. */
const BROKEN_AGAIN_MS = 300_000;
const AT_ONCE = 4;

export const awaitedFiles: Job = {
  name: 'repository-files',
  repairs: 'A signal waits for the .headgate.yaml of its repository.',
  reasonCodes: [],
  period: 'read',
  limit: 20,
  make: (parts) => async () => {
    const { context, limit } = parts;
    const claimed = await context.database.service.use((c) =>
      repositoryFiles.claim(c, { limit, claimMs: CLAIM_MS, againMs: BROKEN_AGAIN_MS }),
    );
    const queue = [...claimed];
    const readers = Array.from({ length: AT_ONCE }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await readOne(parts, next);
    });
    await Promise.all(readers);
    return claimed.length >= limit ? 'busy' : 'idle';
  },
};

async function readOne({ context, report, github }: JobParts, file: ClaimedFile): Promise<void> {
  const { clock, database, paths, policy } = context;
  try {
    const finding = await readFileOf(file, {
      policy: policy.current().policy,
      mirrorsDir: paths.mirrors,
      clock,
      github,
    });
    await failPoint('reconciler.file.read');
    await database.service.transaction((c) => repositoryFiles.settle(c, file, finding, isSound(finding)));
  } catch (fault) {
    report.refused(fault, { repository: file.fullName, source: file.source });
  }
}

/** What waits for a broken file goes on only when it is mended. */
const isSound = (finding: FileFinding): boolean =>
  finding.kind === 'absent' || (finding.kind === 'found' && readRepositoryFile(finding.text).ok);
