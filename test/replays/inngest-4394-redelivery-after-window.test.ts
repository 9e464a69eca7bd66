/** inngest #4394: the same delivery id after the dedupe window, while the first still waits. No second state. */
import { describe, expect, it } from 'vitest';
import { aSignal } from '../world/signals.js';
import { anAdmission, aWorld } from '../world/world.js';

describe('inngest #4394', () => {
  it('I8: a delivery that is forgotten meets its work, which is not', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const signal = aSignal();
    const first = await admission.submit({ signal, tenant: 'default', payload: null });
    await world.sql("update headgate.delivery set expires_at = now() - interval '1 second'");

    const again = await admission.submit({ signal, tenant: 'default', payload: null });
    const third = await admission.submit({ signal, tenant: 'default', payload: null });

    expect(again).toMatchObject({ reasonCode: 'DUPLICATE_WORK', runId: first.runId, existing: true });
    expect(third).toMatchObject({ reasonCode: 'DUPLICATE_DELIVERY', runId: first.runId });
    expect(await world.sql('select 1 from headgate.run')).toHaveLength(1);
    expect(await world.sql('select 1 from headgate.queue_item')).toHaveLength(1);
    expect(await world.sql('select 1 from headgate.task_version')).toHaveLength(1);
  });
});
