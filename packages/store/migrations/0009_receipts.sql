-- Receipts that are replayed and searched.

-- Who asked for a signal that had been received before to be decided once more.
alter table headgate.receipt add column replayed_by text;
-- Promotions, repeats and replays of a receipt: few of all receipts.
create index receipt_parent on headgate.receipt (parent_receipt_id) where parent_receipt_id is not null;

-- Pages of one task's receipts and of one repository's, newest first: the order is the index's own.
drop index headgate.receipt_task;
create index receipt_task on headgate.receipt (task_id, id) where task_id is not null;
create index receipt_repository on headgate.receipt (repository, id) where repository is not null;

-- What a message said beside its body and what it cannot be read without: a CloudEvent in binary mode has its
-- attributes in headers. Null: the body says everything.
alter table headgate.payload add column headers jsonb;
