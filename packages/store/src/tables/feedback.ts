/**
 * feedback: an answer to a refused request, told where it was asked, once.
 *
 *   intended ─► attempted ─► confirmed
 *                  │  ▲
 *                  ▼  │ (a read found nothing)
 *               ambiguous            abandoned: refused by the forge, or tried too often
 *
 * Who may write: whoever holds the row's claim (token, and until when by the database's clock); a claim that ran out is
 * taken by another. The row says `attempted` before the call goes out. Crash before that: claimed again, nothing was
 * sent. Crash after it, or no clear answer: whoever claims it next looks it up at the forge before it calls again.
 * Two comments could come of a call that is still on its way when the next one looks: so a look-up has to be at least
 * the settle window behind the call (`due_at`).
 */
import type { ReasonCode, ReceiptId, RunId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { plainText, rowInsert } from '../connection/rows.js';
import { statement } from '../connection/statement.js';

export interface NewFeedback {
  readonly receiptId: ReceiptId;
  readonly tenantId: number;
  readonly source: string;
  readonly repository: string;
  readonly number: string;
  readonly commentId: string;
  readonly reasonCode: ReasonCode;
  readonly message: string;
}

export interface ClaimedFeedback extends NewFeedback {
  readonly tenant: string;
  readonly tries: number;
  /** A call may have gone out before: look before calling. */
  readonly wasAttempted: boolean;
  readonly claimToken: string;
}

export interface FeedbackEvidence {
  readonly externalId: string;
  readonly url: string | null;
}

// In the order of the key: a second refusal of the same comment stays untold.
const insert = rowInsert<NewFeedback>(
  'feedback.insert',
  'feedback',
  [
    { name: 'receipt_id', type: 'uuid', value: (f) => f.receiptId },
    { name: 'tenant_id', type: 'int', value: (f) => f.tenantId },
    { name: 'source', type: 'text', value: (f) => f.source },
    { name: 'repository', type: 'text', value: (f) => f.repository },
    { name: 'number', type: 'text', value: (f) => f.number },
    { name: 'comment_id', type: 'text', value: (f) => f.commentId },
    { name: 'reason_code', type: 'text', value: (f) => f.reasonCode },
    { name: 'message', type: 'text', value: (f) => f.message },
  ],
  'order by 2, 3, 4, 6 on conflict do nothing',
);
// Of runs that a person asked for by a command, and that ended before they started. Index: run_pkey.
const ofRuns = statement(
  'feedback.of_runs',
  `insert into headgate.feedback
     (receipt_id, tenant_id, source, repository, number, comment_id, reason_code, message)
   select r.receipt_id, r.tenant_id, a.asked ->> 'source', a.asked ->> 'repository', a.asked ->> 'number',
          a.asked ->> 'commentId', g.reason_code, g.message
     from unnest($1::uuid[], $2::text[], $3::text[]) as g(run_id, reason_code, message)
     join headgate.run r on r.id = g.run_id
    cross join lateral (select nullif(r.spec #> '{claim,asked}', 'null') as asked) a
    where a.asked is not null
    order by 2, 3, 4, 6
   on conflict do nothing`,
);
// Index: feedback_due. The claim is by time: a claimant that died is passed over when its time is up.
const claim = statement(
  'feedback.claim',
  `with mine as materialized (
     select receipt_id from headgate.feedback
      where state in ('intended', 'attempted', 'ambiguous') and due_at <= clock_timestamp()
        and (claimed_until is null or claimed_until <= clock_timestamp())
      order by due_at, receipt_id limit $1 for update skip locked
   )
   update headgate.feedback f
      set claim_token = gen_random_uuid(), claimed_until = clock_timestamp() + $2 * interval '1 millisecond'
     from mine, headgate.tenant t
    where f.receipt_id = mine.receipt_id and t.id = f.tenant_id
   returning f.receipt_id as "receiptId", f.tenant_id as "tenantId", t.key as tenant, f.source, f.repository, f.number,
             f.comment_id as "commentId", f.reason_code as "reasonCode", f.message, f.tries,
             f.state <> 'intended' as "wasAttempted", f.claim_token as "claimToken"`,
);
// The last look at the claim before the call: clock_timestamp() after the row lock (SQL rule 2).
const attempt = statement(
  'feedback.attempt',
  `with mine as materialized (
     select receipt_id, claimed_until from headgate.feedback where receipt_id = $1 and claim_token = $2 for update
   )
   update headgate.feedback f
      set state = 'attempted', tries = f.tries + 1, attempted_at = clock_timestamp(),
          due_at = clock_timestamp() + $3 * interval '1 millisecond'
     from mine
    where f.receipt_id = mine.receipt_id and mine.claimed_until > clock_timestamp()
      and f.state in ('intended', 'attempted', 'ambiguous')`,
);
const settle = statement(
  'feedback.settle',
  `update headgate.feedback
      set state = $3, external_id = coalesce($4, external_id), url = coalesce($5, url), detail = $6,
          settled_at = case when $3 in ('confirmed', 'abandoned') then clock_timestamp() end,
          due_at = greatest(due_at, clock_timestamp() + $7 * interval '1 millisecond'),
          claim_token = null, claimed_until = null
    where receipt_id = $1 and claim_token = $2 and state in ('intended', 'attempted', 'ambiguous')`,
);

// It is remembered as long as its receipt: a comment is answered once. By the time in the receipt's id; index: the key.
const forget = statement(
  'feedback.forget',
  `with old as materialized (
     select f.receipt_id from headgate.feedback f
      where f.receipt_id < headgate.uuid7_floor(statement_timestamp() - $2 * interval '1 day')
        and f.state in ('confirmed', 'abandoned')
      order by f.receipt_id limit $1
   )
   delete from headgate.feedback f using old where f.receipt_id = old.receipt_id`,
);

export const feedback = {
  /** At most so many that were told, or given up, longer ago than the days given. */
  forget: (c: Connection, limit: number, days: number): Promise<number> => c.count(forget, [limit, days]),
  insert: insert.insert,
  ofRuns: (
    c: Connection,
    ended: readonly { readonly runId: RunId; readonly reasonCode: ReasonCode; readonly message: string }[],
  ): Promise<number> =>
    ended.length === 0
      ? Promise.resolve(0)
      : c.count(ofRuns, [
          ended.map((one) => one.runId),
          ended.map((one) => one.reasonCode),
          ended.map((one) => plainText(one.message)),
        ]),
  claim: (c: Connection, limit: number, claimMs: number): Promise<ClaimedFeedback[]> =>
    c.run<ClaimedFeedback>(claim, [limit, claimMs]),
  /** False: the claim is no longer held, nothing may be called. */
  attempt: async (c: Connection, row: ClaimedFeedback, settleMs: number): Promise<boolean> =>
    (await c.count(attempt, [row.receiptId, row.claimToken, settleMs])) === 1,
  confirm: (c: Connection, row: ClaimedFeedback, { externalId, url }: FeedbackEvidence): Promise<number> =>
    c.count(settle, [row.receiptId, row.claimToken, 'confirmed', externalId, url, null, 0]),
  /** No clear answer: to be looked up after `delayMs`. */
  doubt: (c: Connection, row: ClaimedFeedback, detail: string, delayMs: number): Promise<number> =>
    c.count(settle, [row.receiptId, row.claimToken, 'ambiguous', null, null, detail, delayMs]),
  abandon: (c: Connection, row: ClaimedFeedback, detail: string): Promise<number> =>
    c.count(settle, [row.receiptId, row.claimToken, 'abandoned', null, null, detail, 0]),
};
