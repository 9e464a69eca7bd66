import type { ScheduleDetail } from '@headgate/sdk';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { api } from '../api/client.js';
import { useAct } from '../api/use-act.js';
import { Dialog } from '../parts/dialog.js';
import { Refused } from '../parts/states.js';
import { type Asked, AskedFields, NOTHING_ASKED, requestOf } from './asked.js';

export function RunNow({ schedule: { id, overlap } }: { readonly schedule: ScheduleDetail }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const trigger = useAct((given: Asked) => api.schedules.trigger(id, requestOf(given)), {
    changes: ['schedules', id],
    onDone: () => setAsked(null),
  });
  return (
    <>
      <Button variant="default" onClick={() => setAsked(NOTHING_ASKED)}>
        Run now…
      </Button>
      {asked !== null && (
        <Dialog isOpen onClose={() => setAsked(null)} title="Run this schedule now?">
          <p>
            One tick more, whose nominal time is this moment; also while it is paused. A head that was worked
            on before makes no run.
          </p>
          <AskedFields own={overlap} asked={asked} onChange={setAsked} />
          <Refused fault={trigger.error} />
          <Button loading={trigger.isPending} onClick={() => trigger.mutate(asked)}>
            Run now
          </Button>
        </Dialog>
      )}
    </>
  );
}
