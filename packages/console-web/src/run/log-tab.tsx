/** The logs of an attempt, a fold for each step. */
import type { LogFile, RunDetail } from '@headgate/sdk';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/client.js';
import { sizeWords } from '../parts/amounts.js';
import { Moment } from '../parts/moment.js';
import { Broken, Empty, Loading } from '../parts/states.js';
import { commandsSeen, evidenceOf } from './evidence.js';
import classes from './log.module.css';
import { LogView } from './log-view.js';

const WHILE_RUNNING_MS = 3_000;

export function LogTab({ run }: { readonly run: RunDetail }) {
  const { data, ...query } = useQuery({
    queryKey: ['run', run.id, 'logs'],
    queryFn: () => api.runs.logs(run.id),
    refetchInterval: run.publicStatus === 'running' ? WHILE_RUNNING_MS : false,
  });
  const [asked, setAsked] = useState<number | null>(null);
  if (data === undefined) {
    return query.isError ? <Broken fault={query.error} /> : <Loading what="the logs" />;
  }
  const attempts = [...new Set(data.items.map((file) => file.attempt))];
  const attempt = asked ?? attempts.at(-1);
  const files = data.items.filter((file) => file.attempt === attempt);
  if (files.length === 0) return <NoLog run={run} />;
  return (
    <div className={classes['logs']}>
      {attempts.length > 1 && (
        <fieldset className={classes['attempts']}>
          <legend>attempt</legend>
          {attempts.map((one) => (
            <button key={one} type="button" aria-pressed={one === attempt} onClick={() => setAsked(one)}>
              {one}
            </button>
          ))}
        </fieldset>
      )}
      {files.map((file) => (
        <LogFold
          key={`${file.attempt}/${file.name}`}
          run={run}
          file={file}
          isOpenAtFirst={file.name === firstToRead(files)}
        />
      ))}
    </div>
  );
}

/** Of an attempt that goes on the newest step; else the agent's. */
function firstToRead(files: readonly LogFile[]): string | undefined {
  const isRunning = files.some((file) => !file.isComplete);
  const agent = files.find((file) => file.step === 'agent');
  return (isRunning ? files.at(-1) : (agent ?? files.at(-1)))?.name;
}

function LogFold(props: {
  readonly run: RunDetail;
  readonly file: LogFile;
  readonly isOpenAtFirst: boolean;
}) {
  const { run, file, isOpenAtFirst } = props;
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <details
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className={classes['fold']}
    >
      <summary>
        <b>{file.step}</b>
        {file.number > 1 && ` ${file.number}`} <code>{commandOf(run, file)}</code>
        <span className="quiet">
          {' '}
          {sizeWords(file.bytes)},{' '}
          {file.isComplete ? (
            <>
              until <Moment at={file.writtenAt} />
            </>
          ) : (
            'being written'
          )}
        </span>
      </summary>
      {isOpen &&
        (file.isHere ? (
          <LogView runId={run.id} file={file} />
        ) : (
          <p className={classes['away']}>
            This log lies with the worker that wrote it, out of this console’s reach.
          </p>
        ))}
    </details>
  );
}

/** Once the attempt has ended its evidence names the commands. */
function commandOf(run: RunDetail, file: LogFile): string {
  if (file.step === 'agent') return run.agent;
  const attempt = run.attempts.find((one) => one.number === file.attempt);
  return commandsSeen(evidenceOf(attempt?.evidence, file.step))[file.number - 1]?.command ?? file.name;
}

function NoLog({ run }: { readonly run: RunDetail }) {
  return (
    <Empty title={run.finishedAt === null ? 'No log yet.' : 'There is no log.'}>
      <p>{withoutLog(run)}</p>
    </Empty>
  );
}

function withoutLog({ publicStatus, attempts, finishedAt }: RunDetail): string {
  if (publicStatus === 'waiting') {
    return 'The run waits. Once a worker has it, what its setup, its agent and its verification say is read here as they say it.';
  }
  if (attempts.length === 0) return 'It ended before a worker had it.';
  return finishedAt === null
    ? 'The worker has started no command yet.'
    : 'Its attempt ended before a command began, or its logs are past their retention.';
}
