/** Whether the instance that a data folder names is really there. */
import { identify } from '@headgate/embedded';
import { type Instance, readInstance } from './files.js';

const ANSWER_WITHIN_MS = 2_000;

/** The instance of the folder, if its process lives and answers. */
export async function runningInstance(dataDir: string): Promise<Instance | null> {
  const instance = readInstance(dataDir);
  if (instance === null || identify(instance.pid) === null) return null;
  return (await answers(instance.url)) ? instance : null;
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return response.ok;
  } catch {
    return false;
  }
}
