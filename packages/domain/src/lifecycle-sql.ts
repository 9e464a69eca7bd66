/**
 * The transition table as SQL: the database refuses what must not happen, whoever writes (law 7). Generated,
 * so that code and database cannot come to disagree; the store's first migration holds this text, and its
 * test compares the two.
 */
import { BIRTH_STATUSES, RUN_STATUSES, TRANSITIONS } from './lifecycle.js';

/** SQLSTATE of an illegal step. Class HG is ours: the standard leaves classes from I to Z to implementations. */
export const ILLEGAL_TRANSITION_SQLSTATE = 'HG001';

/**
 * `headgate.assert_run_transition()`: an insert must carry a birth status, an update a legal step from the old
 * status. A write that leaves the status alone passes, also on an ended run. The error's DETAIL is JSON:
 * `{"run": …, "from": … | null, "to": …}`.
 */
export function transitionFunctionSql(): string {
  return `create or replace function headgate.assert_run_transition() returns trigger
language plpgsql
as $assert_run_transition$
declare
  was text;
  becomes text := new.status::text;
  legal boolean;
begin
  if tg_op = 'INSERT' then
    was := null;
    legal := becomes in (${list(BIRTH_STATUSES)});
  else
    was := old.status::text;
    if was = becomes then
      return new;
    end if;
    legal := case was
${RUN_STATUSES.map(caseOf).join('\n')}
      else false
    end;
  end if;
  if legal is not true then
    raise exception using
      errcode = '${ILLEGAL_TRANSITION_SQLSTATE}',
      message = format('illegal run transition from %s to %s (run %s)', coalesce(was, 'nothing'), becomes, new.id),
      detail = jsonb_build_object('run', new.id, 'from', was, 'to', becomes)::text;
  end if;
  return new;
end
$assert_run_transition$;`;
}

/** The trigger that calls the function. On every update, so that no other trigger can change the status past it. */
export function transitionTriggerSql(): string {
  return `create or replace trigger run_transition
before insert or update on headgate.run
for each row execute function headgate.assert_run_transition();`;
}

function caseOf(from: keyof typeof TRANSITIONS): string {
  const targets = TRANSITIONS[from];
  const legal = targets.length === 0 ? 'false' : `becomes in (${list(targets)})`;
  return `      when '${from}' then ${legal}`;
}

const list = (statuses: readonly string[]): string => statuses.map((status) => `'${status}'`).join(', ');
