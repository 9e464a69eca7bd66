/** What a person is asked about a run, to the digest: the word is for exactly this; and what was said. */
import type { Approval, RunDetail } from '@headgate/sdk';
import { Fact, Facts } from '../parts/facts.js';
import { Id } from '../parts/id.js';
import { Coming, Moment } from '../parts/moment.js';
import classes from './run.module.css';
import { isWord, WORDS } from './words.js';

/** Nothing for a run about which nobody was ever asked. */
export function ApprovalBox({ run }: { readonly run: RunDetail }) {
  const { approval } = run;
  if (approval === null) return null;
  return (
    <section aria-label="A person’s word" className={classes['approval']}>
      {approval.outcome === null ? <Asked run={run} approval={approval} /> : <Said approval={approval} />}
    </section>
  );
}

function Asked({ run, approval }: { readonly run: RunDetail; readonly approval: Approval }) {
  const { requester, fourEyes, requestedAt, expiresAt } = approval;
  return (
    <>
      <p>
        {approval.subject === 'proposal'
          ? 'The result is sealed. It is published only by a person’s word, for exactly this:'
          : 'Nothing was done yet. It starts only by a person’s word:'}
      </p>
      <Binding approval={approval} />
      <p>
        Asked at <Moment at={requestedAt} />
        {requester !== null && (
          <>
            , for <span className="mono">{requester}</span>
          </>
        )}
        ; open until <Moment at={expiresAt} />, <Coming at={expiresAt} />.
        {fourEyes && ' Whoever asked for the work may not agree to it.'}
      </p>
      <NotAllowed run={run} />
    </>
  );
}

/** Why the reader has no button: each reason once. */
function NotAllowed({ run }: { readonly run: RunDetail }) {
  const refused = run.actions.filter((one) => isWord(one.name) && !one.allowed);
  const reasons = [...new Set(refused.flatMap((one) => one.why ?? []))];
  return reasons.map((why) => (
    <p key={why}>
      {refused
        .filter((one) => one.why === why)
        .flatMap((one) => (isWord(one.name) ? WORDS[one.name].button : []))
        .join(', ')}
      : {why}
    </p>
  ));
}

export function Binding({ approval }: { readonly approval: Approval }) {
  const { resultSha256, operations, policyVersion } = approval;
  return (
    <Facts>
      {resultSha256 !== null && (
        <Fact name="result">
          <Id value={resultSha256} label={`sha256 ${resultSha256.slice(0, 16)}…`} />
        </Fact>
      )}
      <Fact name="policy">version {policyVersion}</Fact>
      {operations.map((one) => (
        <Fact key={`${one.kind} ${one.ref}`} name={one.kind} isLong>
          <Id value={one.commitSha} label={one.commitSha.slice(0, 12)} /> to{' '}
          <span className="mono">{one.ref.replace(/^refs\/heads\//, '')}</span> of {one.repository},{' '}
          {one.expectedOldSha === null ? (
            'a new branch'
          ) : (
            <>
              which stands at <Id value={one.expectedOldSha} label={one.expectedOldSha.slice(0, 12)} />
            </>
          )}
        </Fact>
      ))}
    </Facts>
  );
}

function Said({ approval }: { readonly approval: Approval }) {
  const { outcome, decidedBy, decidedAt, reason, resultSha256 } = approval;
  return (
    <p>
      <b>{outcome}</b>
      {decidedBy !== null && (
        <>
          {' '}
          by <span className="mono">{decidedBy}</span>
        </>
      )}{' '}
      at <Moment at={decidedAt} />
      {reason !== null && `: ${reason}`}
      {resultSha256 !== null && (
        <>
          {' '}
          <Id value={resultSha256} label={`sha256 ${resultSha256.slice(0, 16)}…`} />
        </>
      )}
    </p>
  );
}
