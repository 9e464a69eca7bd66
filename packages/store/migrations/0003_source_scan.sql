-- Looking at sources: how far each repository has been looked at, what was seen there, and which failed deliveries
-- the forge was asked to send again.

create table headgate.watermark (
  tenant_id integer not null references headgate.tenant (id),
  source text not null,
  repository text not null,   -- as the configuration names it
  -- Grows with each look that was dealt with: a look made from an older one is thrown away.
  version bigint not null default 0,
  next_at timestamptz not null default clock_timestamp(),
  -- Who looks now, and until when others keep off.
  claim uuid,
  claimed_until timestamptz,
  -- The last look that saw all there was to see.
  looked_at timestamptz,
  -- Of the answers that were dealt with: question -> etag and next page. Written with what they led to, never before.
  validators jsonb not null default '{}',
  outcome text not null default 'never',
  detail text,
  failures integer not null default 0,
  -- Quiet looks since the last receipt about them.
  quiet_since timestamptz,
  quiet_looks integer not null default 0,
  -- What the hook did not bring.
  silent_since timestamptz,
  silent_count integer not null default 0,
  silent_fact text,
  primary key (tenant_id, source, repository)
) with (fillfactor = 70);

-- What was seen: a branch and its commit, a pull request and its state. Never removed because it was not seen once.
create table headgate.source_fact (
  tenant_id integer not null,
  source text not null,
  repository text not null,
  fact text not null,
  version text not null,
  changed_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, source, repository, fact)
) with (fillfactor = 80);

-- Deliveries that failed at the forge, by the GUID that all tries share. Written before the forge is asked.
create table headgate.redelivery (
  tenant_id integer not null,
  source text not null,
  hook text not null,
  guid text not null,
  tries integer not null default 0,
  asked_at timestamptz,
  settled_at timestamptz,
  detail text,
  primary key (tenant_id, source, hook, guid)
);
create index redelivery_settled on headgate.redelivery (settled_at);

do $$
declare
  t text;
begin
  foreach t in array array['watermark', 'source_fact', 'redelivery'] loop
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
