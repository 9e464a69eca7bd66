/** Cancel or retry many: the rows that were chosen, or all that the filter shows. */
import type { RunQuery } from '@headgate/sdk';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { filterOfQuery, filterOfRows } from './bulk.js';
import { type Bulk, BulkDialog } from './bulk-dialog.js';
import classes from './runs.module.css';

export function BulkBar(props: {
  readonly chosen: ReadonlySet<string>;
  readonly query: RunQuery;
  readonly onDone: (ids: readonly string[]) => void;
  readonly onClear: () => void;
}) {
  const { chosen, query, onDone, onClear } = props;
  // As it stood when it was asked: rows and filter may change while it is done.
  const [bulk, setBulk] = useState<Bulk | null>(null);
  const hasRows = chosen.size > 0;
  const filter = hasRows ? filterOfRows(chosen) : filterOfQuery(query);
  if (filter === null && bulk === null) return null;
  return (
    <fieldset className={classes['bulk']} aria-label="What to do with many runs">
      <span role="status" className={hasRows ? undefined : 'quiet'}>
        {hasRows ? `${chosen.size} chosen` : 'all that match'}
      </span>
      {filter !== null &&
        (['cancel', 'replay'] as const).map((action) => (
          <Button
            key={action}
            size="xs"
            variant="default"
            onClick={() => setBulk({ action, filter, chosen: hasRows ? chosen.size : null })}
          >
            {action === 'cancel' ? 'Cancel…' : 'Retry…'}
          </Button>
        ))}
      {hasRows && (
        <Button size="xs" variant="subtle" color="gray" className={classes['clear'] ?? ''} onClick={onClear}>
          Clear
        </Button>
      )}
      {bulk !== null && (
        <BulkDialog
          bulk={bulk}
          onClose={(ids) => {
            setBulk(null);
            if (ids.length > 0) onDone(ids);
          }}
        />
      )}
    </fieldset>
  );
}
