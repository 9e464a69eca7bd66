import type { Explanation, ExplanationStep } from '@headgate/sdk';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useSearchParams } from 'react-router';
import { api } from '../api/client.js';
import { useChanges } from '../live/live.js';
import { Id } from '../parts/id.js';
import { exact } from '../parts/moment.js';
import { Said } from '../parts/said.js';
import { Broken, Empty, Loading } from '../parts/states.js';
import { OutcomeBadge } from '../parts/status.js';
import { WaitingBox } from '../run/run-head.js';
import { chainOf, isDecision } from './chain.js';
import classes from './why.module.css';

export function WhyPage() {
  const [params] = useSearchParams();
  const ref = (params.get('ref') ?? '').trim();
  return ref === '' ? <Asking /> : <Answer ref_={ref} />;
}

const EXAMPLES = [
  ['#7', 'a pull request or an issue, of any repository'],
  ['acme/api#7', 'of this one'],
  ['7f3c9c1e-…', 'a delivery, as GitHub shows it'],
  ['9f31c2a', 'a commit: at least 7 characters'],
  ['https://github.com/acme/api/pull/7', 'an address of the forge'],
  ['run_… task_… rcpt_…', 'an id of ours'],
  ['sch_… goal_…', 'a schedule or a goal'],
  ['42/pr/7/check/unit', 'a work key'],
] as const;

function Asking() {
  return (
    <>
      <title>Why · Headgate</title>
      <h1>Why did it run, wait, or not run?</h1>
      <Empty title="Search for anything that has a name.">
        <dl className={classes['examples']}>
          {EXAMPLES.map(([ref, what]) => (
            <div key={ref}>
              <dt className="mono">{ref}</dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <p>
          Press <kbd>/</kbd> on any page.
        </p>
      </Empty>
    </>
  );
}

function Answer({ ref_: ref }: { readonly ref_: string }) {
  const client = useQueryClient();
  const { data, ...query } = useQuery({ queryKey: ['why', ref], queryFn: () => api.explain(ref) });
  useChanges((changes) => {
    const isAbout = changes.some((change) => data?.steps.some((step) => step.runId === change.runId));
    if (isAbout || data?.kind === 'none') void client.invalidateQueries({ queryKey: ['why', ref] });
  });
  if (data === undefined) {
    return query.isError ? (
      <Broken isPage fault={query.error} onRetry={() => void query.refetch()} />
    ) : (
      <Loading what="why" />
    );
  }
  return (
    <>
      <title>{`Why ${ref} · Headgate`}</title>
      <h1 className={classes['ref']}>
        <span className="quiet">why</span> <Id value={data.ref} />
        {data.kind !== 'none' && <Kind answer={data} />}
      </h1>
      <p className={classes['summary']}>
        <Said text={data.summary} />
      </p>
      {data.waiting !== null && <WaitingBox waiting={data.waiting} />}
      {data.kind === 'none' ? <NothingArrived answer={data} /> : <Chain answer={data} />}
      {data.kind !== 'none' && <Candidates answer={data} />}
    </>
  );
}

/** What has a page of its own leads to it. */
function Kind({ answer: { kind, ref } }: { readonly answer: Explanation }) {
  const page = PAGES[kind];
  return page === undefined ? (
    <span className={classes['kind']}>{kind}</span>
  ) : (
    <Link className={classes['kind']} to={`${page}/${ref}`}>
      open the {kind}
    </Link>
  );
}

const PAGES: Readonly<Partial<Record<Explanation['kind'], string>>> = {
  run: '/runs',
  schedule: '/schedules',
  goal: '/goals',
};

function Chain({ answer }: { readonly answer: Explanation }) {
  return (
    <ol className={classes['chain']} aria-label="What led to it, oldest first">
      {chainOf(answer.steps).map(({ step, below }, index) => (
        <li key={keyOf(step, index)}>
          <StepLine step={step} isHead />
          {below.length > 0 && (
            <ol>
              {below.map((one, at) => (
                <li key={keyOf(one, at)}>
                  <StepLine step={one} />
                </li>
              ))}
            </ol>
          )}
        </li>
      ))}
    </ol>
  );
}

const keyOf = (step: ExplanationStep, index: number): string =>
  `${step.receiptId ?? step.runId ?? ''}-${step.type}-${step.at}-${index}`;

function StepLine(props: {
  readonly step: ExplanationStep;
  /** It hangs below no other step. */
  readonly isHead?: boolean;
}) {
  const { step, isHead = false } = props;
  return (
    <div className={classes['step']}>
      <time dateTime={step.at} title={step.at}>
        {exact(step.at, new Date())}
      </time>
      <div>
        <span className={classes['what']}>
          {step.outcome === null ? (
            <span className={classes['type']}>{step.type}</span>
          ) : (
            <OutcomeBadge outcome={step.outcome} />
          )}{' '}
          {step.reasonCode !== null && <b>{step.reasonCode}</b>}
          {step.count > 1 && (
            <span className={classes['count']}>
              {step.count} times, until {exact(step.lastAt, new Date())}
            </span>
          )}
        </span>{' '}
        <Said text={step.message} />
        <span className={classes['rule']}>
          {step.rule !== null && (
            <>
              rule <code>{step.rule}</code>{' '}
            </>
          )}
          {step.actor !== null && (
            <>
              by <span className="mono">{step.actor}</span>{' '}
            </>
          )}
          {(isHead || isDecision(step)) && step.runId !== null && (
            <Link to={`/runs/${step.runId}`} className="mono">
              {step.runId}
            </Link>
          )}
        </span>
      </div>
    </div>
  );
}

function Candidates({ answer }: { readonly answer: Explanation }) {
  if (answer.candidates.length === 0) return null;
  return (
    <section aria-label="It may also mean" className={classes['candidates']}>
      <h2>It may also mean</h2>
      <ul>
        {answer.candidates.map((one) => (
          <li key={one.id}>
            <Link to={`/why?ref=${encodeURIComponent(one.id)}`}>{one.label}</Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What to check first, and what each source delivered last. */
function NothingArrived({ answer }: { readonly answer: Explanation }) {
  const checks = answer.candidates.filter((one) => one.kind === 'check');
  const sources = answer.candidates.filter((one) => one.kind === 'source');
  return (
    <div className={classes['nothing']}>
      <section aria-label="What to check">
        <h2>What to check</h2>
        <ol>
          {checks.map((one) => (
            <li key={one.id}>
              <Said text={one.label} />
            </li>
          ))}
        </ol>
      </section>
      {sources.length > 0 && (
        <section aria-label="What arrived last">
          <h2>What arrived last</h2>
          <dl>
            {sources.map((one) => (
              <div key={one.id}>
                <dt className="mono">{one.id}</dt>
                <dd>
                  <Said text={one.label} />
                </dd>
              </div>
            ))}
          </dl>
        </section>
      )}
    </div>
  );
}
