-- What every signal and every step of a run pays.

-- As before (RFC 9562, method 3: the 12 bits after the milliseconds are the fraction of it), in one expression that the
-- planner puts in the place of the call: 4.096 units a microsecond are the milliseconds and their fraction side by side.
-- Parsed here, so no search_path of a session has a say in it.
create or replace function headgate.uuid7(ahead_us integer default 0) returns uuid
  language sql volatile parallel safe
  return (overlay(
            lpad(to_hex(floor((extract(epoch from clock_timestamp()) * 1000000 + ahead_us) * 4.096)::bigint), 15, '0')
            placing '7' from 13 for 0)
          || right(gen_random_uuid()::text, 17))::uuid;

-- Payloads come compressed: to try again costs more than to write them.
alter table headgate.payload alter column data set storage external;
