-- Schedules that people pause, run by hand and back-fill, and that pause themselves; goals and their observations.

alter table headgate.schedule
  add column paused_at timestamptz,
  add column paused_by text,
  -- Failures before this do not pause it again.
  add column resumed_at timestamptz not null default clock_timestamp();

-- Whose nominal time it is: the timer's, a person's "run now", or a back-fill's. Each of them settles a time once.
alter table headgate.schedule_tick
  add column origin text not null default 'timer' check (origin in ('timer', 'trigger', 'backfill')),
  drop constraint schedule_tick_bucket_check,
  add constraint schedule_tick_bucket_check check (bucket in
    ('fired', 'buffered', 'skipped', 'missed', 'excluded', 'paused', 'discarded')),
  drop constraint schedule_tick_pkey,
  add primary key (schedule_id, nominal_at, target, origin);

-- What the rows of schedule_tick add up to, also those that retention has taken.
create table headgate.schedule_count (
  schedule_id uuid not null,
  tenant_id integer not null,
  origin text not null,
  bucket text not null,
  total bigint not null,
  primary key (schedule_id, origin, bucket)
) with (fillfactor = 70);
insert into headgate.schedule_count (schedule_id, tenant_id, origin, bucket, total)
select schedule_id, tenant_id, origin, bucket, sum(count) from headgate.schedule_tick group by 1, 2, 3, 4;

-- A person's "run now" or back-fill, done by a ticker.
create table headgate.schedule_request (
  id uuid primary key,
  schedule_id uuid not null,
  tenant_id integer not null,
  kind text not null check (kind in ('trigger', 'backfill')),
  overlap text,
  -- Nominal times, both included; of "run now" the moment it was asked for.
  from_at timestamptz not null,
  until_at timestamptz not null,
  -- All nominal times up to this one are done.
  cursor_at timestamptz,
  state text not null default 'pending' check (state in ('pending', 'done', 'refused')),
  detail text,
  ticks integer not null default 0,
  reason text,
  requested_by text not null,
  requested_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);
create index schedule_request_pending on headgate.schedule_request (id) where state = 'pending';
create index schedule_request_schedule on headgate.schedule_request (schedule_id, id);

-- One row for each route's goal and each of its repositories.
create table headgate.goal (
  id uuid primary key,
  tenant_id integer not null,
  route text not null,
  ordinal integer not null,
  -- The repository's identity, and how it is called.
  target text not null,
  repository text not null,
  spec jsonb not null,
  policy_version integer not null,
  state text not null default 'active' check (state in ('active', 'paused', 'done', 'given-up', 'removed')),
  state_at timestamptz not null default clock_timestamp(),
  state_by text,
  reason_code text,
  note text,
  receipt_id uuid,
  -- Grows with each reset; numbers and bounds begin anew.
  epoch integer not null default 1,
  is_reset boolean not null default false,
  phase text not null default 'idle' check (phase in ('idle', 'observing', 'working')),
  -- The observation or the agent's run that is under way.
  run_id uuid,
  started_at timestamptz not null default clock_timestamp(),
  next_at timestamptz,
  observations integer not null default 0,
  runs integer not null default 0,
  cost_usd numeric(14, 6) not null default 0,
  -- Agent's runs in a row after which the observation was the same, and observations in a row that said nothing.
  no_progress integer not null default 0,
  unknowns integer not null default 0,
  ran_since boolean not null default false,
  fingerprint text,
  unique (tenant_id, route, ordinal, target),
  check ((phase = 'idle') = (run_id is null))
) with (fillfactor = 70);
create index goal_due on headgate.goal (next_at) where state = 'active' and phase = 'idle';
create index goal_under_way on headgate.goal (id) where state = 'active' and phase <> 'idle';

create table headgate.observation (
  id uuid primary key,
  goal_id uuid not null,
  tenant_id integer not null,
  epoch integer not null,
  number integer not null,
  run_id uuid not null,
  outcome text not null check (outcome in ('holds', 'open', 'unknown')),
  -- Where it looked: branch and commit.
  ref text,
  version text,
  result jsonb,
  detail text,
  fingerprint text,
  -- The receipt of what followed.
  receipt_id uuid,
  observed_at timestamptz not null default clock_timestamp(),
  unique (goal_id, epoch, number)
);

do $$
declare
  t text;
begin
  foreach t in array array['schedule_count', 'schedule_request', 'goal', 'observation'] loop
    execute format('alter table headgate.%I enable row level security', t);
    execute format('alter table headgate.%I force row level security', t);
    execute format('create policy owner_all on headgate.%I to current_user using (true) with check (true)', t);
    execute format('create policy service_all on headgate.%I to headgate_service using (true) with check (true)', t);
    execute format(
      'create policy api_tenant on headgate.%I to headgate_api
         using (tenant_id = any ((select headgate.visible_tenants())::integer[]))
         with check (tenant_id = any ((select headgate.visible_tenants())::integer[]))', t);
    execute format('grant select, insert, update, delete on headgate.%I to headgate_service', t);
    execute format('grant select on headgate.%I to headgate_api', t);
  end loop;
end
$$;
-- What the console does in the caller's name: pause, resume, ask for a run, reset.
grant update on headgate.schedule, headgate.goal to headgate_api;
grant insert on headgate.schedule_tick, headgate.schedule_request to headgate_api;
grant insert, update on headgate.schedule_count to headgate_api;
