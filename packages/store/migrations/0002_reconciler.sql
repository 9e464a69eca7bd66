-- What repair and retention need.

-- Who a run is counted for (a dimension id): a queue item that was lost is made again with every dimension.
alter table headgate.run add column user_id integer;

-- Attempts that are under way: few, whatever the table holds.
create index attempt_running on headgate.attempt (id) where status = 'running';

-- Drops the months that retention no longer keeps, and returns their names. Runs as the owner, so that the
-- reconciler needs no DDL rights; serialised by a lock. Dropping a partition takes its parent's strongest lock: if
-- it cannot be had at once, nothing is dropped and the next call tries again, so that intake never queues up
-- behind it. The default partition is left alone.
create function headgate.drop_old_partitions(receipt_days integer, payload_days integer, event_days integer)
  returns text[]
  language plpgsql volatile security definer
  set search_path = headgate, pg_catalog
  set lock_timeout = '500ms'
as $$
declare
  parents constant text[] := array['receipt', 'payload', 'run_event'];
  keep_days constant integer[] := array[receipt_days, payload_days, event_days];
  dropped text[] := '{}';
  partition text;
  ends_at timestamptz;
begin
  if receipt_days is null or payload_days is null or event_days is null
     or least(receipt_days, payload_days, event_days) < 1 then
    raise exception 'retention of less than a day' using errcode = '22023';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('headgate.partitions', 0));
  for n in 1..3 loop
    for partition in
      select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = ('headgate.' || parents[n])::regclass
         and c.relname ~ ('^' || parents[n] || '_[0-9]{4}_[0-9]{2}$')
       order by c.relname
    loop
      ends_at := (to_date(right(partition, 7), 'YYYY_MM')::timestamp + interval '1 month') at time zone 'UTC';
      if ends_at <= clock_timestamp() - make_interval(days => keep_days[n]) then
        execute format('drop table headgate.%I', partition);
        dropped := dropped || partition;
      end if;
    end loop;
  end loop;
  return dropped;
end
$$;
revoke execute on function headgate.drop_old_partitions(integer, integer, integer) from public;
grant execute on function headgate.drop_old_partitions(integer, integer, integer) to headgate_service;
