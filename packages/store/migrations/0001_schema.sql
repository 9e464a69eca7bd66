-- Headgate, the whole schema of the first release.
--
-- Hot tables (queue_item, lease) are narrow, carry every counted dimension as a small id, have a low fillfactor
-- and no foreign keys. Append-only tables are partitioned by range of their UUIDv7. Every table that holds a
-- tenant's rows is under FORCE ROW LEVEL SECURITY from here on.

create schema headgate;
set local search_path to headgate, pg_catalog;

-- ids ---------------------------------------------------------------------------------------------------------

-- UUIDv7 (RFC 9562, method 3: the 12 bits after the milliseconds are the fraction of it), for events that a
-- statement writes by itself. `ahead_us` keeps the steps of one statement in their order.
create function uuid7(ahead_us integer default 0) returns uuid
  language plpgsql volatile parallel safe set search_path = pg_catalog
as $$
declare
  us bigint := floor(extract(epoch from clock_timestamp()) * 1000000)::bigint + ahead_us;
  ms bigint := us / 1000;
  fraction int := ((us % 1000) * 4096 / 1000)::int;
  tail text := replace(gen_random_uuid()::text, '-', '');
begin
  return (lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(fraction), 3, '0') || '8' || substr(tail, 18, 15))::uuid;
end
$$;

-- The smallest UUIDv7 of an instant: the bound of a partition, or of a search by time.
create function uuid7_floor(at timestamptz) returns uuid
  language sql immutable parallel safe set search_path = pg_catalog
as $$
  select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
$$;

create type run_status as enum (
  'ADMITTED',
  'WAITING_APPROVAL',
  'WAITING_CAPACITY',
  'QUEUED',
  'CLAIMED',
  'PREPARING_SANDBOX',
  'RUNNING',
  'VERIFYING',
  'JUDGING',
  'FINALIZING',
  'STALE_LEASE',
  'FAILED_RETRYABLE',
  'CANCEL_REQUESTED',
  'CANCELLING',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
  'NO_WORK',
  'SUPERSEDED',
  'EXPIRED',
  'POLICY_DENIED'
);
create type item_state as enum ('delayed', 'ready', 'dispatched');
create type item_wait as enum ('capacity', 'backoff');

-- One sequence for all leases: tokens grow with time whatever the run. CACHE 1, or sessions would hand out blocks.
create sequence fencing_token as bigint cache 1;

-- who and under which policy -------------------------------------------------------------------------------------

create table incarnation (
  id uuid primary key,
  created_at timestamptz not null default clock_timestamp()
);
insert into incarnation (id) values (gen_random_uuid());

create table policy_version (
  id integer generated always as identity primary key,
  digest text not null unique,
  policy jsonb not null,
  actor text not null,
  created_at timestamptz not null default clock_timestamp()
);
create table policy_head (
  singleton boolean primary key default true check (singleton),
  policy_version integer not null references policy_version (id),
  activated_at timestamptz not null default clock_timestamp(),
  actor text not null
);

create table tenant (
  id integer generated always as identity primary key,
  key text not null unique check (key <> ''),
  timezone text not null default 'UTC',
  created_at timestamptz not null default clock_timestamp()
);

-- (tenant, kind, key) -> small id, for the hot tables. Tenant 0 holds what belongs to nobody (queues).
create table dimension (
  id integer generated always as identity primary key,
  tenant_id integer not null,
  kind text not null,
  key text not null,
  unique (tenant_id, kind, key)
);

create table repository (
  id integer generated always as identity primary key,
  tenant_id integer not null references tenant (id),
  source text not null,
  external_id text not null,
  full_name text not null,
  url text,
  default_branch text,
  updated_at timestamptz not null default clock_timestamp(),
  unique (tenant_id, source, external_id)
);
create index repository_name on repository (tenant_id, full_name);

create table api_token (
  id uuid primary key,
  tenant_id integer references tenant (id),  -- null: every tenant (the instance's own admin token)
  name text not null,
  token_hash bytea not null unique,
  role text not null check (role in ('viewer', 'operator', 'approver', 'admin')),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);

-- A browser's sign-in: worth what its token is worth, and ends with it. Only a hash of the cookie is kept.
create table session (
  id uuid primary key default gen_random_uuid(),
  token_id uuid not null references api_token (id) on delete cascade,
  secret_hash bytea not null unique,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index session_expiry on session (expires_at);

-- intake ---------------------------------------------------------------------------------------------------------

-- The dedupe memory. Its own small table: a partitioned one cannot hold the key.
create table delivery (
  source_id text not null,
  event_id text not null,
  tenant_id integer not null,
  receipt_id uuid not null,
  expires_at timestamptz not null,
  primary key (source_id, event_id)
);
create index delivery_expiry on delivery (expires_at);

create table receipt (
  id uuid primary key,
  tenant_id integer not null,
  kind text not null check (kind in ('decision', 'closing')),
  outcome text not null check (outcome in ('accept', 'defer', 'reject', 'no-work')),
  reason_code text not null,
  message text not null,
  rule text not null,
  trigger text not null,
  via text not null,
  route text,
  existing boolean not null default false,
  retry_after timestamptz,
  watermark text,
  parent_receipt_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  traceparent text,
  -- delivery identity
  source text not null,
  event_id text not null,
  type text not null,
  hook_id text,
  emitted_at timestamptz,
  received_at timestamptz not null,
  actor text,
  -- domain identity
  repository text,
  work_key text,
  target_id text,
  input_version text,
  generation integer,
  policy_version integer not null,
  -- execution identity
  task_id uuid,
  run_id uuid,
  attempt_no integer,
  lease_id uuid,
  fencing_token bigint,
  concurrency_key text,
  -- mutation identity (closing receipts)
  mutations jsonb
) partition by range (id);
create index receipt_page on receipt (tenant_id, id);
create index receipt_event on receipt (event_id);
create index receipt_run on receipt (run_id) where run_id is not null;
create index receipt_task on receipt (task_id) where task_id is not null;

create table payload (
  receipt_id uuid primary key,
  tenant_id integer not null,
  encoding text not null check (encoding in ('deflate', 'identity')),
  media_type text not null,
  data bytea not null
) partition by range (receipt_id);

create table deferred_signal (
  id uuid primary key,
  tenant_id integer not null,
  receipt_id uuid not null,
  task_id uuid,
  reason_code text not null,
  due_at timestamptz not null,
  tries integer not null default 0,
  candidate jsonb not null,
  created_at timestamptz not null default clock_timestamp()
);
create index deferred_signal_due on deferred_signal (due_at);
create index deferred_signal_task on deferred_signal (task_id) where task_id is not null;

create table idempotency_key (
  tenant_id integer not null,
  key text not null,
  request_hash bytea not null,
  http_status integer,   -- null: still in flight
  body jsonb,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  primary key (tenant_id, key)
);
create index idempotency_key_expiry on idempotency_key (expires_at);

-- work -----------------------------------------------------------------------------------------------------------

create table task (
  id uuid primary key,
  tenant_id integer not null references tenant (id),
  key_hash bytea not null check (octet_length(key_hash) = 32),
  work_key text not null,
  generation integer not null default 1,
  -- Grows only by a person's reset, and with the first version after its pull request was merged.
  publication integer not null default 1,
  -- The newest version by the source's order.
  latest_version text,
  latest_source_at timestamptz,
  latest_parents text[] not null default '{}',
  -- The queueOne latch.
  next_version text,
  next_receipt_id uuid,
  next_source_at timestamptz,
  next_parents text[] not null default '{}',
  cancelled_at timestamptz,
  cancelled_by text,
  created_at timestamptz not null default clock_timestamp(),
  unique (tenant_id, key_hash),
  unique (tenant_id, id)
) with (fillfactor = 80);
create index task_latch on task (id) where next_receipt_id is not null;

-- The tombstone: which versions were ever admitted. Outlives the run's retention.
create table task_version (
  task_id uuid not null,
  generation integer not null,
  version_hash bytea not null check (octet_length(version_hash) = 16),
  tenant_id integer not null,
  input_version text not null,
  run_id uuid not null,
  source_at timestamptz,
  parent_versions text[] not null default '{}',
  outcome run_status,   -- null while the run lives
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, version_hash, generation)
) with (fillfactor = 80);
create index task_version_live on task_version (task_id) where outcome is null;

create table task_signal (
  task_id uuid not null,
  receipt_id uuid not null,
  tenant_id integer not null,
  run_id uuid,
  primary key (task_id, receipt_id)
);

create table run (
  id uuid primary key,
  tenant_id integer not null,
  task_id uuid not null,
  receipt_id uuid not null,
  -- immutable specification
  generation integer not null,
  publication integer not null,
  input_version text not null,
  route text not null,
  mode text not null,
  agent text not null,
  queue text not null,
  repository_id integer,
  source text not null,
  risk text not null,
  priority integer not null,             -- seconds of head start
  source_at timestamptz,
  parent_versions text[] not null default '{}',
  policy_version integer not null,
  concurrency_key text,
  actor text,
  traceparent text,
  spec jsonb not null,                   -- agent command, target, verify, limits, retry … as of admission
  created_at timestamptz not null default clock_timestamp(),
  -- mutable
  status run_status not null,
  status_at timestamptz not null default clock_timestamp(),
  reason_code text,
  reason_detail text,
  attempt_no integer not null default 0,
  failures_application smallint not null default 0,
  failures_infrastructure smallint not null default 0,
  failures_lease_lost smallint not null default 0,
  failures_rate_limit smallint not null default 0,
  cancel_requested_at timestamptz,
  cancel_phase run_status,
  cancel_actor text,
  sealed_at timestamptz,
  branch text,
  started_at timestamptz,
  finished_at timestamptz,
  cost_usd numeric(14, 6) not null default 0,
  unique (tenant_id, id),
  foreign key (tenant_id, task_id) references task (tenant_id, id)
) with (fillfactor = 70);
create index run_task on run (task_id, id);
create index run_version on run (tenant_id, input_version);

-- Generated: transitionFunctionSql() and transitionTriggerSql() of the domain; a test holds the text equal.
create or replace function headgate.assert_run_transition() returns trigger
language plpgsql
as $assert_run_transition$
declare
  was text;
  becomes text := new.status::text;
  legal boolean;
begin
  if tg_op = 'INSERT' then
    was := null;
    legal := becomes in ('QUEUED', 'ADMITTED', 'WAITING_CAPACITY', 'WAITING_APPROVAL');
  else
    was := old.status::text;
    if was = becomes then
      return new;
    end if;
    legal := case was
      when 'ADMITTED' then becomes in ('QUEUED', 'WAITING_CAPACITY', 'WAITING_APPROVAL', 'POLICY_DENIED', 'SUPERSEDED', 'EXPIRED', 'NO_WORK', 'CANCEL_REQUESTED')
      when 'WAITING_APPROVAL' then becomes in ('ADMITTED', 'QUEUED', 'POLICY_DENIED', 'SUPERSEDED', 'EXPIRED', 'NO_WORK', 'CANCEL_REQUESTED')
      when 'WAITING_CAPACITY' then becomes in ('ADMITTED', 'QUEUED', 'POLICY_DENIED', 'SUPERSEDED', 'EXPIRED', 'NO_WORK', 'CANCEL_REQUESTED')
      when 'QUEUED' then becomes in ('CLAIMED', 'ADMITTED', 'WAITING_CAPACITY', 'WAITING_APPROVAL', 'POLICY_DENIED', 'SUPERSEDED', 'EXPIRED', 'NO_WORK', 'CANCEL_REQUESTED')
      when 'CLAIMED' then becomes in ('PREPARING_SANDBOX', 'RUNNING', 'VERIFYING', 'JUDGING', 'FINALIZING', 'NO_WORK', 'SUCCEEDED', 'FAILED', 'FAILED_RETRYABLE', 'POLICY_DENIED', 'STALE_LEASE', 'WAITING_APPROVAL', 'CANCEL_REQUESTED')
      when 'PREPARING_SANDBOX' then becomes in ('RUNNING', 'VERIFYING', 'JUDGING', 'FINALIZING', 'NO_WORK', 'SUCCEEDED', 'FAILED', 'FAILED_RETRYABLE', 'POLICY_DENIED', 'STALE_LEASE', 'WAITING_APPROVAL', 'CANCEL_REQUESTED')
      when 'RUNNING' then becomes in ('VERIFYING', 'JUDGING', 'FINALIZING', 'SUCCEEDED', 'FAILED', 'FAILED_RETRYABLE', 'POLICY_DENIED', 'STALE_LEASE', 'WAITING_APPROVAL', 'CANCEL_REQUESTED')
      when 'VERIFYING' then becomes in ('RUNNING', 'JUDGING', 'FINALIZING', 'SUCCEEDED', 'FAILED', 'FAILED_RETRYABLE', 'POLICY_DENIED', 'STALE_LEASE', 'WAITING_APPROVAL', 'CANCEL_REQUESTED')
      when 'JUDGING' then becomes in ('RUNNING', 'FINALIZING', 'SUCCEEDED', 'FAILED', 'FAILED_RETRYABLE', 'POLICY_DENIED', 'STALE_LEASE', 'WAITING_APPROVAL', 'CANCEL_REQUESTED')
      when 'FINALIZING' then becomes in ('SUCCEEDED', 'FAILED', 'FAILED_RETRYABLE', 'POLICY_DENIED', 'STALE_LEASE', 'WAITING_APPROVAL', 'CANCEL_REQUESTED')
      when 'STALE_LEASE' then becomes in ('FAILED_RETRYABLE', 'FAILED', 'CANCEL_REQUESTED')
      when 'FAILED_RETRYABLE' then becomes in ('QUEUED', 'FAILED', 'CANCEL_REQUESTED')
      when 'CANCEL_REQUESTED' then becomes in ('CANCELLING')
      when 'CANCELLING' then becomes in ('CANCELLED')
      when 'SUCCEEDED' then false
      when 'FAILED' then false
      when 'CANCELLED' then false
      when 'NO_WORK' then false
      when 'SUPERSEDED' then false
      when 'EXPIRED' then false
      when 'POLICY_DENIED' then false
      else false
    end;
  end if;
  if legal is not true then
    raise exception using
      errcode = 'HG001',
      message = format('illegal run transition from %s to %s (run %s)', coalesce(was, 'nothing'), becomes, new.id),
      detail = jsonb_build_object('run', new.id, 'from', was, 'to', becomes)::text;
  end if;
  return new;
end
$assert_run_transition$;
create or replace trigger run_transition
before insert or update on headgate.run
for each row execute function headgate.assert_run_transition();

create table run_event (
  id uuid primary key,
  tenant_id integer not null,
  run_id uuid,
  task_id uuid,
  at timestamptz not null default clock_timestamp(),
  type text not null,
  from_status run_status,
  to_status run_status,
  reason_code text,
  actor text,
  attempt_no integer,
  fencing_token bigint,
  lease_id uuid,
  data jsonb,
  -- Subscribers read by (incarnation, xid, id) below the oldest running transaction: a bare id cursor loses
  -- rows that commit late.
  xid xid8 not null default pg_current_xact_id()
) partition by range (id);
create index run_event_run on run_event (run_id, id) where run_id is not null;
-- What concerns a task and none of its runs: few rows.
create index run_event_task on run_event (task_id, id) where run_id is null;
create index run_event_cursor on run_event (xid, id);

create table subscriber_cursor (
  subscriber text primary key,
  incarnation_id uuid not null,
  xid xid8 not null,
  event_id uuid not null,
  updated_at timestamptz not null default clock_timestamp()
);

-- hot ------------------------------------------------------------------------------------------------------------

-- The right to be dispatched, while waiting.
create table queue_item (
  run_id uuid primary key,
  tenant_id integer not null,
  state item_state not null,
  waits item_wait,
  visible_at timestamptz not null,
  expires_at timestamptz,
  rank_at timestamptz not null,
  enqueued_at timestamptz not null,
  dispatched_at timestamptz,
  hinted_at timestamptz,
  dispatch_no integer not null default 0,
  verdict text,
  verdict_at timestamptz,
  task_id uuid not null,
  exclusive_task boolean not null,
  -- every dimension that is counted
  organisation_id integer,
  repository_id integer,
  user_id integer,
  task_type_id integer not null,
  risk smallint not null,
  queue_id integer not null,
  agent_id integer not null,
  provider_id integer,
  sandbox_id integer,
  concurrency_key bytea,
  concurrency_limit integer,
  tokens_per_minute integer not null default 0,
  reserved_usd numeric(14, 6) not null default 0,
  check ((state = 'dispatched') = (dispatched_at is not null))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200,
        autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index queue_item_ready on queue_item (queue_id, tenant_id, rank_at, run_id)
  include (concurrency_key) where state = 'ready';
create index queue_item_delayed on queue_item (visible_at, run_id) where state = 'delayed';
create index queue_item_dispatched on queue_item (dispatched_at, run_id) where state = 'dispatched';
create index queue_item_expiry on queue_item (expires_at, run_id) where expires_at is not null;

-- The right to act now. Its primary key is "one active lease per run".
create table lease (
  run_id uuid primary key,
  tenant_id integer not null,
  attempt_id uuid not null,
  worker_id uuid not null,
  fencing_token bigint not null,
  lease_id uuid not null,
  task_id uuid not null,
  -- Null only for onNewVersion: allow. Keeps two versions of a task apart.
  exclusive_task_id uuid,
  -- Null unless the key's limit is 1. Never '': two empty ones would collide.
  exclusive_key bytea,
  acquired_at timestamptz not null,
  expires_at timestamptz not null,     -- in no index: heartbeats stay HOT
  renew_until timestamptz not null,
  graced boolean not null default false,
  control text check (control in ('cancel', 'supersede', 'drain')),
  dispatch_no integer not null,        -- a retry's item goes on counting from here
  -- every dimension that is counted
  organisation_id integer,
  repository_id integer,
  user_id integer,
  task_type_id integer not null,
  risk smallint not null,
  queue_id integer not null,
  agent_id integer not null,
  provider_id integer,
  sandbox_id integer,
  concurrency_key bytea,
  concurrency_limit integer,
  tokens_per_minute integer not null default 0,
  reserved_usd numeric(14, 6) not null default 0,
  unique (tenant_id, exclusive_task_id),
  unique (tenant_id, exclusive_key)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200,
        autovacuum_vacuum_cost_delay = 0);

-- execution ------------------------------------------------------------------------------------------------------

create table worker (
  id uuid primary key,
  name text not null,
  state text not null check (state in ('STARTING', 'READY', 'DRAINING', 'STOPPED', 'DEAD')),
  capabilities jsonb not null,
  queue_ids integer[] not null,
  slots integer not null check (slots > 0),
  lease_ttl_ms integer not null,
  host text not null,
  pid integer not null,
  version text not null,
  registered_at timestamptz not null default clock_timestamp(),
  heartbeat_at timestamptz not null default clock_timestamp(),
  stopped_at timestamptz
) with (fillfactor = 50);
create index worker_live on worker (id) where state in ('STARTING', 'READY', 'DRAINING');

create table attempt (
  id uuid primary key,
  tenant_id integer not null,
  run_id uuid not null,
  number integer not null,
  worker_id uuid not null,
  lease_id uuid not null,
  fencing_token bigint not null,
  status text not null default 'running'
    check (status in ('running', 'succeeded', 'failed', 'cancelled', 'lost', 'released')),
  reason_code text,
  detail text,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  cost_usd numeric(14, 6) not null default 0,
  evidence jsonb,
  unique (run_id, number)
) with (fillfactor = 80);

-- The result, sealed before the first intent: an attempt that finds one never re-runs the agent.
create table seal (
  run_id uuid primary key,
  tenant_id integer not null,
  attempt_id uuid not null,
  verdict text not null check (verdict in ('changes', 'no-change')),
  base_version text not null,
  commit_sha text,
  hash bytea not null,
  bytes bigint not null,
  verification jsonb not null,
  summary text,
  created_at timestamptz not null default clock_timestamp()
);
create table seal_chunk (
  run_id uuid not null,
  seq integer not null,
  tenant_id integer not null,
  data bytea not null check (octet_length(data) <= 1048576),
  primary key (run_id, seq)
);

create table operation (
  id uuid primary key,
  tenant_id integer not null,
  key_hash bytea not null check (octet_length(key_hash) = 32),
  key text not null,
  kind text not null,
  state text not null
    check (state in ('intended', 'attempted', 'confirmed', 'ambiguous', 'absent', 'conflicted', 'abandoned')),
  run_id uuid not null,
  task_id uuid not null,
  fencing_token bigint not null,
  lease_id uuid not null,
  intent jsonb not null,
  tries integer not null default 0,
  external_id text,
  url text,
  evidence jsonb,
  detail text,
  intended_at timestamptz not null default clock_timestamp(),
  attempted_at timestamptz,
  ambiguous_at timestamptz,
  settled_at timestamptz,
  checked_at timestamptz,   -- when a reconciler last read the provider for it
  unique (tenant_id, key_hash)
) with (fillfactor = 80);
create index operation_run on operation (run_id);
create index operation_task on operation (task_id);
create index operation_unsettled on operation (attempted_at) where state in ('attempted', 'ambiguous');

create table artifact (
  id uuid primary key,
  tenant_id integer not null,
  run_id uuid not null,
  attempt_no integer not null,
  name text not null,
  path text not null,
  bytes bigint not null,
  sha256 bytea not null,
  media_type text not null,
  created_at timestamptz not null default clock_timestamp(),
  unique (run_id, attempt_no, name)
);

create table dead_letter (
  id uuid primary key,
  tenant_id integer not null,
  run_id uuid not null unique,
  reason_code text not null,
  owner text,
  evidence jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  resolved_at timestamptz,
  resolved_by text
);
create index dead_letter_page on dead_letter (tenant_id, id);

create table usage (
  attempt_id uuid primary key,
  tenant_id integer not null,
  run_id uuid not null,
  model text,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  tool_ms bigint not null default 0,
  cpu_ms bigint not null default 0,
  artifact_bytes bigint not null default 0,
  provider_calls integer not null default 0,
  cost_usd numeric(14, 6) not null default 0,
  cost_source text not null check (cost_source in ('reported', 'metered', 'estimated', 'none'))
);
create index usage_run on usage (run_id);

create table tenant_day (
  tenant_id integer not null,
  day date not null,
  settled_usd numeric(14, 6) not null default 0,
  primary key (tenant_id, day)
) with (fillfactor = 70);

-- schedules --------------------------------------------------------------------------------------------------------

create table schedule (
  id uuid primary key,
  tenant_id integer not null,
  route text not null,
  ordinal integer not null,
  spec jsonb not null,
  policy_version integer not null,
  state text not null default 'active' check (state in ('active', 'paused', 'removed')),
  note text,
  anchor_at timestamptz not null default clock_timestamp(),
  last_nominal_at timestamptz,
  next_at timestamptz,
  unique (tenant_id, route, ordinal)
) with (fillfactor = 70);
create index schedule_due on schedule (next_at) where state = 'active';

-- Every nominal time is in exactly one bucket; a long gap is one range row with its count.
create table schedule_tick (
  schedule_id uuid not null,
  nominal_at timestamptz not null,
  target text not null,
  tenant_id integer not null,
  until_at timestamptz not null,
  count integer not null check (count > 0),
  bucket text not null check (bucket in ('fired', 'skipped', 'missed')),
  reason_code text not null,
  receipt_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  primary key (schedule_id, nominal_at, target)
);

-- partitions -------------------------------------------------------------------------------------------------------

-- Makes this month's and the next two months' partitions. Runs as the owner, so that the reconciler needs no DDL
-- rights; serialised by a lock, so that two callers are harmless.
create function ensure_partitions() returns integer
  language plpgsql volatile security definer set search_path = headgate, pg_catalog
as $$
declare
  parent text;
  -- Without a time zone: months added to a timestamptz would be the session's, not UTC's.
  this_month constant timestamp := date_trunc('month', clock_timestamp() at time zone 'UTC');
  partition text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('headgate.partitions', 0));
  foreach parent in array array['receipt', 'payload', 'run_event'] loop
    for step in 0..2 loop
      partition := parent || '_' || to_char(this_month + make_interval(months => step), 'YYYY_MM');
      if to_regclass('headgate.' || partition) is null then
        begin
          execute format(
            'create table headgate.%I partition of headgate.%I for values from (%L) to (%L)', partition, parent,
            headgate.uuid7_floor((this_month + make_interval(months => step)) at time zone 'UTC'),
            headgate.uuid7_floor((this_month + make_interval(months => step + 1)) at time zone 'UTC'));
          execute format('alter table headgate.%I enable row level security', partition);
          execute format('alter table headgate.%I force row level security', partition);
          made := made + 1;
        exception when check_violation then
          -- Rows of that month lie in the default partition already (nobody made partitions for months): they
          -- stay there, and the other tables get theirs.
          raise warning 'partition % cannot be made: the default partition holds rows of that month', partition;
        end;
      end if;
    end loop;
  end loop;
  return made;
end
$$;
create table receipt_default partition of receipt default;
create table payload_default partition of payload default;
create table run_event_default partition of run_event default;
select ensure_partitions();

-- tenants: row level security ------------------------------------------------------------------------------------------

-- The tenants a session of headgate_api may see: `set local headgate.tenants = '1'` (or '1,2'). Empty means none.
create function visible_tenants() returns integer[]
  language sql stable parallel safe set search_path = pg_catalog
as $$
  select coalesce(string_to_array(nullif(current_setting('headgate.tenants', true), ''), ',')::integer[], '{}')
$$;

do $$
declare
  t text;
  tenant_tables constant text[] := array[
    'dimension', 'repository', 'delivery', 'receipt', 'payload', 'deferred_signal', 'idempotency_key', 'task',
    'task_version', 'task_signal', 'run', 'run_event', 'queue_item', 'lease', 'attempt', 'seal', 'seal_chunk',
    'operation', 'artifact', 'dead_letter', 'usage', 'tenant_day', 'schedule', 'schedule_tick'];
  shared_tables constant text[] := array[
    'incarnation', 'policy_version', 'policy_head', 'worker', 'subscriber_cursor', 'api_token', 'session', 'tenant'];
begin
  foreach t in array tenant_tables || shared_tables loop
    execute format('alter table headgate.%I enable row level security', t);
    execute format('alter table headgate.%I force row level security', t);
    execute format('create policy owner_all on headgate.%I to current_user using (true) with check (true)', t);
    execute format('create policy service_all on headgate.%I to headgate_service using (true) with check (true)', t);
    execute format('grant select, insert, update, delete on headgate.%I to headgate_service', t);
  end loop;
  foreach t in array tenant_tables loop
    execute format(
      'create policy api_tenant on headgate.%I to headgate_api
         using (tenant_id = any ((select headgate.visible_tenants())::integer[]))
         with check (tenant_id = any ((select headgate.visible_tenants())::integer[]))', t);
    execute format('grant select on headgate.%I to headgate_api', t);
  end loop;
end
$$;

create policy api_own on tenant to headgate_api using (id = any ((select visible_tenants())::integer[]));
create policy api_queues on dimension for select to headgate_api using (tenant_id = 0);
-- What belongs to the instance, not to a tenant, and holds no tenant's data.
create policy api_read on worker for select to headgate_api using (true);
create policy api_read on policy_head for select to headgate_api using (true);
grant select on tenant, worker, policy_head to headgate_api;
-- Cancel, from the console: the tenant's own rows only, by the policies above.
grant update on task, run, lease, task_version, attempt to headgate_api;
grant insert on run_event, receipt to headgate_api;
grant delete on queue_item, deferred_signal to headgate_api;
grant update on deferred_signal, queue_item to headgate_api;

grant usage on schema headgate to headgate_service, headgate_api;
grant usage on sequence fencing_token to headgate_service;
revoke execute on function ensure_partitions() from public;
grant execute on function ensure_partitions() to headgate_service;

-- Who a token belongs to, before any tenant is known.
create function authenticate(hash bytea) returns table (id uuid, tenant_id integer, name text, role text)
  language sql volatile security definer set search_path = headgate, pg_catalog
as $$
  update headgate.api_token t
     set last_used_at = clock_timestamp()
   where t.token_hash = hash and t.revoked_at is null
     and (t.expires_at is null or t.expires_at > clock_timestamp())
  returning t.id, t.tenant_id, t.name, t.role
$$;
-- Signs a browser in with a token; no row: the token is not valid. Sessions that ran out go on the way.
create function open_session(hash bytea, secret_hash bytea, ttl_ms bigint)
  returns table (id uuid, tenant_id integer, name text, role text)
  language sql volatile security definer set search_path = headgate, pg_catalog
as $$
  with gone as (
    delete from headgate.session s where s.expires_at <= clock_timestamp()
  ), holder as (
    update headgate.api_token t
       set last_used_at = clock_timestamp()
     where t.token_hash = hash and t.revoked_at is null
       and (t.expires_at is null or t.expires_at > clock_timestamp())
    returning t.id, t.tenant_id, t.name, t.role, t.expires_at
  ), opened as (
    insert into headgate.session (token_id, secret_hash, expires_at)
    select h.id, open_session.secret_hash,
           least(h.expires_at, clock_timestamp() + ttl_ms * interval '1 millisecond')
      from holder h
  )
  select h.id, h.tenant_id, h.name, h.role from holder h
$$;
create function session_holder(hash bytea) returns table (id uuid, tenant_id integer, name text, role text)
  language sql stable security definer set search_path = headgate, pg_catalog
as $$
  select t.id, t.tenant_id, t.name, t.role
    from headgate.session s join headgate.api_token t on t.id = s.token_id
   where s.secret_hash = hash and s.expires_at > clock_timestamp() and t.revoked_at is null
     and (t.expires_at is null or t.expires_at > clock_timestamp())
$$;
create function close_session(hash bytea) returns void
  language sql volatile security definer set search_path = headgate, pg_catalog
as $$ delete from headgate.session s where s.secret_hash = hash $$;
-- Every tenant's id, for a token that is not bound to one.
create function tenant_ids() returns integer[]
  language sql stable security definer set search_path = headgate, pg_catalog
as $$ select coalesce(array_agg(id order by id), '{}') from headgate.tenant $$;
revoke execute on function authenticate(bytea), open_session(bytea, bytea, bigint), session_holder(bytea),
  close_session(bytea), tenant_ids() from public;
grant execute on function authenticate(bytea), open_session(bytea, bytea, bigint), session_holder(bytea),
  close_session(bytea), tenant_ids() to headgate_service, headgate_api;
