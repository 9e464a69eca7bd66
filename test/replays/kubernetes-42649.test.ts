/** kubernetes #42649: a per-minute schedule, 101 minutes down. It resumes, and the misses are counted. */
import { describe, expect, it } from 'vitest';
import {
  aScheduleWorld,
  runLines,
  scheduleLines,
  scheduleYaml,
  tickLines,
} from '../../services/intake/test/schedule-world.js';

describe('kubernetes #42649', () => {
  it('I2: after 101 minutes the newest tick runs, and the hundred before it are one counted range', async () => {
    const { world, turn } = await aScheduleWorld(
      scheduleYaml('cron: "@every 1m", catchUp: { mode: latest, window: 1h }'),
    );
    await world.sql(
      `update headgate.schedule set anchor_at = now() - interval '101 minutes 5 seconds', last_nominal_at = null,
              next_at = now() - interval '100 minutes'`,
    );

    expect(await turn()).toEqual([{ kind: 'settled', ticks: 1 }]);

    const ticks = await tickLines(world);
    expect(ticks.map((tick) => [tick.bucket, tick.reason, tick.count])).toEqual([
      ['missed', 'MISSED_CATCHUP', 100],
      ['fired', 'ADMITTED', 1],
    ]);
    expect(ticks[0]?.untilAt.getTime()).toBe((ticks[1]?.nominalAt.getTime() ?? 0) - 60_000);
    expect(await runLines(world)).toHaveLength(1);
    const [line] = await scheduleLines(world);
    expect(line?.nextAt?.getTime()).toBe((ticks[1]?.nominalAt.getTime() ?? 0) + 60_000);
    expect(await turn()).toEqual([]);
  });
});
