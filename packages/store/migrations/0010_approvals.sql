-- What a person is asked, and what was said; and what is kept of a lease once its row is gone.

-- One row each time a run begins to wait for a person. A word is for one row: it is bound to what stands in it.
create table headgate.approval (
  id uuid primary key,
  tenant_id integer not null,
  run_id uuid not null,
  subject text not null check (subject in ('admission', 'proposal')),
  policy_version integer not null,
  result_hash bytea check (octet_length(result_hash) = 32),   -- null: nothing was sealed yet
  operations jsonb not null,
  requester text,
  four_eyes boolean not null,
  requested_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  outcome text check (outcome in ('approved', 'declined', 'expired', 'withdrawn')),
  decided_at timestamptz,
  decided_by text,
  reason text,
  check ((outcome is null) = (decided_at is null))
) with (fillfactor = 80);
-- A run waits for one thing at a time.
create unique index approval_open on headgate.approval (run_id) where outcome is null;
create index approval_run on headgate.approval (run_id, id);
create index approval_due on headgate.approval (expires_at, run_id) where outcome is null;

-- Runs that wait already were never told what they wait for exactly: whoever publishes one is asked once more, with it.
insert into headgate.approval
  (id, tenant_id, run_id, subject, policy_version, result_hash, operations, requester, four_eyes, expires_at)
select headgate.uuid7(), r.tenant_id, r.id, case when s.run_id is null then 'admission' else 'proposal' end,
       r.policy_version, s.hash, '[]', r.actor, false, clock_timestamp() + interval '7 days'
  from headgate.run r left join headgate.seal s on s.run_id = r.id
 where r.status = 'WAITING_APPROVAL';

-- Heartbeats leave no rows: their number and the last one stand on the lease, and are the attempt's when it ends. What a
-- beat changes stands together at the row's end, since the log holds a row from its first changed byte to its last.
alter table headgate.lease rename column expires_at to expires_before;
alter table headgate.lease
  add column expires_at timestamptz,                  -- in no index: heartbeats stay HOT
  add column renewed_at timestamptz,
  add column renewals integer not null default 0;
update headgate.lease set expires_at = expires_before;
alter table headgate.lease alter column expires_at set not null, drop column expires_before;
alter table headgate.attempt
  add column lease_renewals integer,
  add column lease_renewed_at timestamptz,
  add column lease_expires_at timestamptz;

do $$
declare
  t text;
begin
  foreach t in array array['approval'] loop
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
-- A person's word, from the console: on requests of the caller's tenants only, by the policies above.
grant update on headgate.approval to headgate_api;
grant insert on headgate.queue_item to headgate_api;
