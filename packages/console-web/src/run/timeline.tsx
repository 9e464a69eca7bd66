/**
 * A lane for what it waited and one for each attempt: stages as bars, side effects as pins, renewals of the lease as ticks
 * below, its end, loss and takeover as marks.
 */
import type { AttemptLease, RunAttempt, RunDetail } from '@headgate/sdk';
import { useMemo } from 'react';
import { duration, exact, took, useNowMs } from '../parts/moment.js';
import { words } from '../parts/status.js';
import { type Bar, type Lane, lanesOf, type Scale, scaleOf } from './lanes.js';
import classes from './timeline.module.css';

export function Timeline({ run }: { readonly run: RunDetail }) {
  const nowMs = useNowMs();
  const endMs = run.finishedAt === null ? nowMs : 0;
  const lanes = useMemo(() => lanesOf(run, endMs), [run, endMs]);
  const scale = useMemo(() => scaleOf(lanes), [lanes]);
  if (lanes.length === 0) return null;
  return (
    <section aria-label="Timeline" className={classes['timeline']}>
      <ol>
        {lanes.map((lane) => (
          <LaneRow key={lane.attempt?.id ?? 'waits'} lane={lane} scale={scale} />
        ))}
      </ol>
      <div className={classes['axis']} aria-hidden="true">
        <span>{exact(new Date(scale.fromMs).toISOString(), new Date())}</span>
        <span>{took(scale.toMs - scale.fromMs)}</span>
        <span>{run.finishedAt === null ? 'now' : exact(new Date(scale.toMs).toISOString(), new Date())}</span>
      </div>
    </section>
  );
}

function LaneRow({ lane, scale }: { readonly lane: Lane; readonly scale: Scale }) {
  const { attempt, bars, pins, loss } = lane;
  return (
    <li className={classes['lane']}>
      <LaneName lane={lane} />
      <div className={classes['track']}>
        <span className="hidden">{bars.map(barWords).join(', ')}</span>
        {bars.map((bar) => (
          <StageBar key={`${bar.stage}-${bar.fromMs}`} bar={bar} scale={scale} />
        ))}
        {attempt === null &&
          scale.cuts.map((cut) => (
            <span
              key={cut.at}
              className={classes['cut']}
              style={{ left: `${cut.at}%`, transform: `translateX(-${cut.at}%)` }}
              aria-hidden="true"
            >
              {duration(cut.ms)}
            </span>
          ))}
        {pins.map((pin) => (
          <span
            key={`${pin.label}-${pin.atMs}`}
            className={`${classes['pin']} ${classes[pin.state] ?? ''}`}
            style={{ left: `${scale.place(pin.atMs)}%` }}
            title={`${pin.label} ${pin.state}`}
          >
            <span className="hidden">
              {pin.label} {pin.state}
            </span>
          </span>
        ))}
        <LeaseMarks lane={lane} scale={scale} />
        {loss !== null && <LossMark lostMs={loss.lostMs} scale={scale} />}
      </div>
    </li>
  );
}

const clock = (atMs: number): string => exact(new Date(atMs).toISOString(), new Date());

/** Beside the instant, on the side that has room. */
function LossMark({ lostMs, scale }: { readonly lostMs: number; readonly scale: Scale }) {
  const at = scale.place(lostMs);
  const side = at > 40 ? { right: `${100 - at}%` } : { left: `${at}%` };
  return (
    <span className={classes['lost']} style={side}>
      ✕ lost {clock(lostMs)}
    </span>
  );
}

function LeaseMarks({ lane, scale }: { readonly lane: Lane; readonly scale: Scale }) {
  const { beats, leaseUntilMs, loss } = lane;
  const endMs = leaseUntilMs ?? loss?.expiredMs ?? null;
  const endAt = endMs === null ? null : scale.place(endMs);
  const endWords = loss === null ? 'the lease runs out here' : 'the lease ran out here';
  return (
    <>
      {beats.map((atMs) => (
        <span
          key={atMs}
          className={classes['beat']}
          style={{ left: `${scale.place(atMs)}%` }}
          aria-hidden="true"
        />
      ))}
      {endAt !== null && endAt < 100 && (
        <span className={classes['lease']} style={{ left: `${endAt}%` }} title={endWords} />
      )}
    </>
  );
}

function LaneName({ lane: { attempt, leaseUntilMs, hasTakenOver } }: { readonly lane: Lane }) {
  if (attempt === null) return <span className={classes['name']}>waiting</span>;
  return (
    <span className={classes['name']}>
      attempt {attempt.number} <b>{attempt.status}</b> {reasonOf(attempt)}
      <span className={`quiet ${classes['held']}`}>
        {hasTakenOver && 'took over, '}token {attempt.fencingToken}
        {renewedWords(attempt.lease)}
        {leaseUntilMs !== null && `, lease until ${clock(leaseUntilMs)}`}
      </span>
    </span>
  );
}

/** What its status does not say; what was said of it stands in the title. */
const reasonOf = ({ status, reasonCode, detail }: RunAttempt) =>
  status === 'succeeded' || reasonCode === null ? null : (
    <span className={classes['why']} title={detail ?? ''}>
      {reasonCode}
    </span>
  );

function renewedWords({ renewals, renewedAt, beatMs }: AttemptLease): string {
  if (renewals === null) return '';
  if (renewals === 0 || renewedAt === null) return ', lease never renewed';
  const times = renewals === 1 ? 'once' : `${renewals} times`;
  const apart = renewals > 1 && beatMs !== null ? `, ${(beatMs / 1_000).toFixed(1)} s apart on average` : '';
  return `, renewed ${times}, last ${exact(renewedAt, new Date())}${apart}`;
}

function StageBar({ bar, scale }: { readonly bar: Bar; readonly scale: Scale }) {
  const left = scale.place(bar.fromMs);
  const width = Math.max(0.3, scale.place(bar.toMs) - left);
  const isCut = scale.cuts.some(({ at }) => at > left && at < left + width);
  return (
    <span
      className={`${classes['bar']} ${classes[bar.stage] ?? ''} ${bar.isOpen ? classes['open'] : ''}`}
      style={{ left: `${left}%`, width: `${width}%` }}
      title={barWords(bar)}
      aria-hidden="true"
    >
      <span className={`${classes['stage']} ${isCut ? classes['besideCut'] : ''}`}>{words(bar.stage)}</span>
    </span>
  );
}

const barWords = (bar: Bar): string =>
  `${words(bar.stage)} ${(bar.isOpen ? duration : took)(bar.toMs - bar.fromMs)}${bar.isOpen ? ' so far' : ''}`;
