/**
 * One bad row never stops a job (SQL rule 9): on a fault that the rows are to blame for, the batch is halved
 * until the one at fault stands alone; it is reported, and all others are done.
 */
import { isRowFault } from '@headgate/store';

export async function halving<In, Out>(
  batch: readonly In[],
  work: (part: readonly In[]) => Promise<readonly Out[]>,
  refused: (fault: unknown, row: In) => void,
): Promise<readonly Out[]> {
  if (batch.length === 0) return [];
  try {
    return await work(batch);
  } catch (fault) {
    if (!isRowFault(fault)) throw fault;
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
