-- What every signal and every step of a run pays.

-- As before (RFC 9562, method 3: the 12 bits after the milliseconds are the fraction of it), in one expression that the
-- planner puts in the place of the call: 4.096 units a microsecond are the milliseconds and their fraction side by side.
-- Parsed here, so no search_path of a session has a say in it. The tail only has to be unique, so it comes from the
-- session's own generator: gen_random_uuid() asks the system each time, which was most of the cost.
create or replace function headgate.uuid7(ahead_us integer default 0) returns uuid
  language sql volatile parallel restricted
  return (overlay(
            lpad(to_hex(floor((extract(epoch from clock_timestamp()) * 1000000 + ahead_us) * 4.096)::bigint), 15, '0')
            placing '7' from 13 for 0)
          || '8' || lpad(to_hex((random() * 268435455)::integer), 7, '0')
          || lpad(to_hex((random() * 4294967295)::bigint), 8, '0'))::uuid;

-- Payloads come compressed: to try again costs more than to write them.
alter table headgate.payload alter column data set storage external;
