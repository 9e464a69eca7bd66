import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams, useSearchParams } from 'react-router';
import { api } from '../api/client.js';
import { useCurrentInView } from '../parts/current-in-view.js';
import { Broken, Loading } from '../parts/states.js';
import { CostTab } from './cost-tab.js';
import { DiffTab } from './diff-tab.js';
import { EventsTab } from './events-tab.js';
import { LogTab } from './log-tab.js';
import { OperationsTab } from './operations-tab.js';
import classes from './run.module.css';
import { RunHead } from './run-head.js';
import { TaskTab } from './task-tab.js';
import { Timeline } from './timeline.js';
import { VerificationTab } from './verification-tab.js';

const TABS = ['log', 'diff', 'verification', 'operations', 'cost', 'events', 'task'] as const;
type TabName = (typeof TABS)[number];
/** The lease is renewed without an event. */
const WHILE_RUNNING_MS = 4_000;

export function RunPage() {
  const { id = '' } = useParams();
  const [params, setParams] = useSearchParams();
  const asked = params.get('tab');
  const tab: TabName = TABS.find((one) => one === asked) ?? 'log';
  const { data: run, ...query } = useQuery({
    queryKey: ['run', id],
    queryFn: () => api.runs.get(id),
    refetchInterval: ({ state }) => (state.data?.finishedAt === null ? WHILE_RUNNING_MS : false),
  });
  const tabs = useCurrentInView<HTMLDivElement>('[aria-selected="true"]', run === undefined ? '' : tab);
  if (run === undefined) {
    return query.isError ? (
      <Broken isPage fault={query.error} onRetry={() => void query.refetch()} />
    ) : (
      <Loading what={`run ${id}`} />
    );
  }
  return (
    <>
      <title>{`${run.route} ${run.publicStatus} · Headgate`}</title>
      <RunHead run={run} />
      <Timeline run={run} />
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(next) => setParams(next === null ? {} : { tab: next }, { replace: true })}
        className={classes['tabs'] ?? ''}
      >
        <Tabs.List ref={tabs} className={classes['list'] ?? ''} aria-label="About this run">
          {TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {one}
              {one === 'operations' && run.operations.length > 0 && ` ${run.operations.length}`}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="log">
          <LogTab run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="diff">
          <DiffTab run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="verification">
          <VerificationTab run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="operations">
          <OperationsTab run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="cost">
          <CostTab run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="events">
          <EventsTab run={run} />
        </Tabs.Panel>
        <Tabs.Panel value="task">
          <TaskTab run={run} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
