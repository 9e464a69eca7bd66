-- The loop guard's memory, what a refused person is told, and which repositories a forge says there are.

-- Where a run stands in its chain of causes: part of its specification, never changed.
alter table headgate.run
  add column hops smallint not null default 0,
  -- Null: its own receipt is the root.
  add column root_receipt_id uuid,
  -- Runs of its task since a person, or a version that is not ours, began the chain; this one included.
  add column chain_runs smallint not null default 1,
  -- Its target, hashed: what rates are counted by.
  add column subject bytea check (octet_length(subject) = 16);
create index run_subject on headgate.run (tenant_id, subject, id) where subject is not null;
create index run_user on headgate.run (tenant_id, user_id, id) where user_id is not null;

-- Which run made a commit: sealed before its first push, so that no echo can be faster.
create index seal_commit on headgate.seal (tenant_id, commit_sha) where commit_sha is not null;

-- When a person last acted on a target, a branch or a piece of work (a hash of its name).
create table headgate.target_touch (
  tenant_id integer not null,
  subject bytea not null check (octet_length(subject) = 16),
  touched_at timestamptz not null,
  primary key (tenant_id, subject)
) with (fillfactor = 80);
create index target_touch_age on headgate.target_touch (touched_at);

-- An answer to a refused request, told where it was asked: an operation of its receipt, claimed by token and time on
-- this row. One for each comment.
create table headgate.feedback (
  receipt_id uuid primary key,
  tenant_id integer not null,
  source text not null,
  repository text not null,
  number text not null,
  comment_id text not null,
  reason_code text not null,
  message text not null,
  state text not null default 'intended'
    check (state in ('intended', 'attempted', 'confirmed', 'ambiguous', 'abandoned')),
  tries integer not null default 0,
  due_at timestamptz not null default clock_timestamp(),
  claim_token uuid,
  claimed_until timestamptz,
  attempted_at timestamptz,
  external_id text,
  url text,
  detail text,
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  unique (tenant_id, source, repository, comment_id)
) with (fillfactor = 80);
create index feedback_due on headgate.feedback (due_at, receipt_id) where state in ('intended', 'attempted', 'ambiguous');

-- A repository as its forge numbers it: names follow the number.
create table headgate.forge_repository (
  tenant_id integer not null,
  source text not null,
  forge_id text not null,
  -- As the forge calls it now.
  full_name text not null,
  -- As the configuration calls it: the name under which it was first met there.
  configured_name text,
  installation_id text,
  removed_at timestamptz,
  suspended_at timestamptz,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, source, forge_id)
) with (fillfactor = 80);

do $$
declare
  t text;
begin
  foreach t in array array['target_touch', 'feedback', 'forge_repository'] loop
    execute format('alter table headgate.%I enable row level security', t);
    execute format('alter table headgate.%I force row level security', t);
    execute format('create policy owner_all on headgate.%I to current_user using (true) with check (true)', t);
    execute format('create policy service_all on headgate.%I to headgate_service using (true) with check (true)', t);
    execute format('grant select, insert, update, delete on headgate.%I to headgate_service', t);
    execute format(
      'create policy api_tenant on headgate.%I to headgate_api
         using (tenant_id = any ((select headgate.visible_tenants())::integer[]))
         with check (tenant_id = any ((select headgate.visible_tenants())::integer[]))', t);
    execute format('grant select on headgate.%I to headgate_api', t);
  end loop;
end
$$;
