/** The example of `npm start`: its source, its repository, and deliveries about it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '@headgate/config';
import type { SampleSubject } from '@headgate/sources';
import { CommandEnd, EXIT } from './exit.js';

export const EXAMPLE_SOURCE = 'example-github';
export const EXAMPLE_MESSAGE_SOURCE = 'example-webhooks';
/** The attribute `source` of its CloudEvents, which its source of that kind takes. */
export const EXAMPLE_EVENT_SOURCE = 'https://ci.example.com/nightly';
export const EXAMPLE_REPOSITORY = 'headgate/example';
const MAIN = 'main';
/** The forge's number of it, as its deliveries say. */
const EXAMPLE_REPOSITORY_ID = 1;

/** Where the example's bare repository stands (`local:example/repository.git`). */
export const exampleRepositoryPath = (dataDir: string): string => join(dataDir, 'example', 'repository.git');

/** What a delivery about a branch of the example speaks of, as the branch stands now. Ends the command without it. */
export async function exampleSubject(
  settings: Settings,
  options: { readonly branch?: string; readonly isFresh: boolean; readonly now: Date },
): Promise<SampleSubject> {
  const path = exampleRepositoryPath(settings.dataDir);
  if (!existsSync(path)) {
    throw new CommandEnd(
      EXIT.notReached,
      `There is no example repository in ${settings.dataDir}.`,
      'Start "headgate up" with the example configuration first, on the same data folder.',
    );
  }
  const { breakExample, shaOf } = await import('@headgate/runtimes');
  const branch = options.branch ?? MAIN;
  const about = { repository: REPOSITORY, branch, at: options.now };
  if (options.isFresh) {
    const { headSha, baseSha } = await breakExample({ path, branch, at: options.now });
    return { ...about, headSha, baseSha };
  }
  const headSha = await shaOf(path, branch);
  if (headSha === null) {
    throw new CommandEnd(
      EXIT.usage,
      `The example repository has no branch "${branch}".`,
      'Leave --branch out for main, or add --fresh to make the branch with a new change.',
    );
  }
  return { ...about, headSha, baseSha: null };
}

const REPOSITORY = {
  id: EXAMPLE_REPOSITORY_ID,
  fullName: EXAMPLE_REPOSITORY,
  defaultBranch: MAIN,
} as const;
