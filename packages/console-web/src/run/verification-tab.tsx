import type { RunDetail } from '@headgate/sdk';
import { useQuery } from '@tanstack/react-query';
import { api } from '../api/client.js';
import { isProblem } from '../api/query-client.js';
import { Id } from '../parts/id.js';
import { Moment, took } from '../parts/moment.js';
import { Broken, Empty, Loading } from '../parts/states.js';
import { type CommandSeen, commandsSeen, evidenceOf } from './evidence.js';
import classes from './verification.module.css';

export const useResult = (run: RunDetail) =>
  useQuery({
    queryKey: ['run', run.id, 'result'],
    queryFn: () =>
      api.runs.result(run.id).catch((fault: unknown) => {
        if (isProblem(fault, 404)) return null;
        throw fault;
      }),
  });

export function VerificationTab({ run }: { readonly run: RunDetail }) {
  const { data: result, ...query } = useResult(run);
  if (query.isError) return <Broken fault={query.error} />;
  if (result === undefined) return <Loading what="the verification" />;
  const last = run.attempts.at(-1);
  const verify = commandsSeen(result?.verification ?? evidenceOf(last?.evidence, 'verify'));
  const setup = commandsSeen(evidenceOf(last?.evidence, 'setup'));
  if (verify.length === 0 && setup.length === 0 && result === null) {
    return (
      <Empty title={run.finishedAt === null ? 'Nothing has been verified yet.' : 'Nothing was verified.'}>
        <p>
          A route’s <code>verify</code> commands run after the agent, before anything is published.
        </p>
      </Empty>
    );
  }
  return (
    <div className={classes['verification']}>
      {result !== null && (
        <p>
          Sealed at <Moment at={result.sealedAt} />: <b>{result.verdict}</b>
          {result.commitSha !== null && (
            <>
              , commit <Id value={result.commitSha} label={result.commitSha.slice(0, 12)} />
            </>
          )}{' '}
          on <Id value={result.baseVersion} label={result.baseVersion.slice(0, 12)} />
        </p>
      )}
      {result?.summary != null && (
        <figure>
          <figcaption className="quiet">The agent says</figcaption>
          <pre>{result.summary}</pre>
        </figure>
      )}
      <Commands title="Verify" list={verify} none="The route verifies nothing." />
      <Commands title="Setup" list={setup} none={null} />
    </div>
  );
}

function Commands(props: {
  readonly title: string;
  readonly list: readonly CommandSeen[];
  readonly none: string | null;
}) {
  const { title, list, none } = props;
  if (list.length === 0) return none === null ? null : <p className="quiet">{none}</p>;
  return (
    <section aria-label={title} className={classes['commands']}>
      <h2>{title}</h2>
      {list.map((one, index) => (
        <details key={`${index}-${one.command}`} open={!one.hasPassed}>
          <summary>
            <span className={one.hasPassed ? classes['passed'] : classes['failed']}>
              {one.hasPassed ? '✓' : '✕'} {one.outcome}
            </span>{' '}
            <code>{one.command}</code>{' '}
            {one.wallMs !== null && <span className="quiet">{took(one.wallMs)}</span>}
          </summary>
          <pre>{one.tail === '' ? '(no output)' : one.tail}</pre>
        </details>
      ))}
    </section>
  );
}
