-- What routes need beside the queue: open pull requests by repository, files of repositories, activations of policies.

-- Tasks that took a place among their repository's open pull requests, made with their first run. Whether the place
-- is still held is read from what exists: a live version, or a confirmed publication that has not ended.
create table headgate.publication_place (
  task_id uuid primary key,
  tenant_id integer not null,
  repository_id integer not null,
  created_at timestamptz not null default clock_timestamp()
);
create index publication_place_repository on headgate.publication_place (repository_id);

-- A publication whose pull request was closed or merged, or whose branch is gone. A reopened one has its row removed.
create table headgate.publication_end (
  task_id uuid not null,
  publication integer not null,
  tenant_id integer not null,
  receipt_id uuid not null,
  ended_at timestamptz not null default clock_timestamp(),
  primary key (task_id, publication)
);

-- `.headgate.yaml` of a repository as it was last read at the default branch.
create table headgate.repository_file (
  id integer generated always as identity primary key,
  tenant_id integer not null,
  source text not null,
  full_name text not null,            -- lower case: forges compare names without it
  state text not null default 'unread' check (state in ('unread', 'found', 'absent', 'unreadable')),
  blob_sha text,                      -- of `found`
  commit_sha text,                    -- the head of the default branch it was read at
  detail text,                        -- of `unreadable`
  read_at timestamptz,
  requested_at timestamptz not null default clock_timestamp(),
  claimed_until timestamptz,
  claim uuid,
  unique (tenant_id, source, full_name)
);

-- The texts, by what git calls them: the same text is kept once in a tenant.
create table headgate.repository_file_text (
  tenant_id integer not null,
  blob_sha text not null,
  text text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, blob_sha)
);

-- Which file a deferred signal waits for.
alter table headgate.deferred_signal add column repository_file_id integer;
create index deferred_signal_file on headgate.deferred_signal (repository_file_id) where repository_file_id is not null;

-- The blob that narrowed the decision; null: none was read.
alter table headgate.receipt add column repository_config_sha text;

-- Every activation, a return to an older version included.
create table headgate.policy_activation (
  id integer generated always as identity primary key,
  policy_version integer not null references headgate.policy_version (id),
  previous_version integer,
  actor text not null,
  reason text,
  activated_at timestamptz not null default clock_timestamp()
);
insert into headgate.policy_activation (policy_version, actor, activated_at)
select policy_version, actor, activated_at from headgate.policy_head;

do $$
declare
  t text;
  tenant_tables constant text[] := array['publication_place', 'publication_end', 'repository_file', 'repository_file_text'];
  shared_tables constant text[] := array['policy_activation'];
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
create policy api_read on headgate.policy_activation for select to headgate_api using (true);
grant select on headgate.policy_activation to headgate_api;
