-- A run's row holds its specification, one to two kilobytes that never change, and is updated three times on a good
-- day: claimed, running, ended. At 70 a page held three rows and had room for one new version: the others went to another
-- page, with all of the row and four index entries in the log. At 50 it holds two, and room for a version of each: the
-- updates stay HOT, and the log has what changed.
alter table headgate.run set (fillfactor = 50);
