/**
 * One bad row never stops a job (SQL rule 9): on a data fault the batch is halved until the row at fault stands
 * alone; it is reported, and all others are done.
 */
import { isDataFault } from '@headgate/store';

export async function halving<In, Out>(
  batch: readonly In[],
  work: (part: readonly In[]) => Promise<readonly Out[]>,
  refused: (fault: unknown, row: In) => void,
): Promise<readonly Out[]> {
  if (batch.length === 0) return [];
  try {
    return await work(batch);
  } catch (fault) {
    if (!isDataFault(fault)) throw fault;
    const [only] = batch;
    if (only !== undefined && batch.length === 1) {
      refused(fault, only);
      return [];
    }
    const half = Math.ceil(batch.length / 2);
    const first = await halving(batch.slice(0, half), work, refused);
    return [...first, ...(await halving(batch.slice(half), work, refused))];
  }
}
