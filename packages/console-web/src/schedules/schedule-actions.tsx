import type { ScheduleDetail } from '@headgate/sdk';
import { Button } from '@mantine/core';
import { api } from '../api/client.js';
import { useAct } from '../api/use-act.js';
import { Pause } from '../parts/pause.js';
import { Refused } from '../parts/states.js';
import { Backfill } from './backfill.js';
import { RunNow } from './run-now.js';
import classes from './schedule.module.css';

export function ScheduleActions({ schedule }: { readonly schedule: ScheduleDetail }) {
  const { id } = schedule;
  const answers = ['schedules', id];
  const pause = useAct((note: string | null) => api.schedules.pause(id, note === null ? {} : { note }), {
    answers,
  });
  const resume = useAct(() => api.schedules.resume(id), { answers });
  return (
    <div className={classes['actions']}>
      {schedule.state === 'paused' ? (
        <Button loading={resume.isPending} onClick={() => resume.mutate(undefined)}>
          Resume
        </Button>
      ) : (
        <Pause
          what="schedule"
          effect="What runs goes on. The times that pass are counted as paused, and never run late."
          pause={pause}
        />
      )}
      <RunNow schedule={schedule} />
      <Backfill schedule={schedule} />
      <Refused fault={resume.error} />
    </div>
  );
}
