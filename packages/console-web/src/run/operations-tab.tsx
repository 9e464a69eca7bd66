import type { RunDetail } from '@headgate/sdk';
import { Id, OutsideLink } from '../parts/id.js';
import { Moment } from '../parts/moment.js';
import { Empty } from '../parts/states.js';
import { words } from '../parts/status.js';
import { Table } from '../parts/table.js';

export function OperationsTab({ run }: { readonly run: RunDetail }) {
  if (run.operations.length === 0) {
    return (
      <Empty title="No side effect is intended.">
        <p>A run intends each one before it is made: here it would stand, with what came of it.</p>
      </Empty>
    );
  }
  return (
    <Table
      label="Operations"
      columns={['What', 'State', 'Intended', 'Called', 'Known', 'Tries', 'Result', 'Key']}
      rows={run.operations.map((one) => ({
        key: one.key,
        cells: [
          words(one.kind),
          <span key="state">
            <b>{one.status}</b> {one.detail}
          </span>,
          <Moment key="intended" at={one.intendedAt} />,
          <Moment key="attempted" at={one.attemptedAt} />,
          <Moment key="settled" at={one.settledAt} />,
          one.tries,
          <span key="result" className="mono">
            <OutsideLink url={one.url} label={one.url ?? one.externalId ?? '–'} />
          </span>,
          <Id key="key" value={one.key} />,
        ],
      }))}
    />
  );
}
