/** Why they wait: each reason filters the list. */
import type { Overview } from '@headgate/sdk';
import classes from './runs.module.css';

export function WaitingChips({
  overview,
  chosen,
  onChoose,
}: {
  readonly overview: Overview | undefined;
  readonly chosen: string | undefined;
  readonly onChoose: (reasonCode: string | null) => void;
}) {
  const { reasons = [], counted = 0, total = 0 } = overview?.waiting ?? {};
  const isGone = chosen !== undefined && !reasons.some((one) => one.reasonCode === chosen);
  const shown = isGone ? [...reasons, { reasonCode: chosen, count: 0 }] : reasons;
  if (shown.length === 0) return null;
  return (
    <fieldset className={classes['chips']}>
      <legend>why they wait</legend>
      {shown.map(({ reasonCode, count }) => (
        <button
          key={reasonCode}
          type="button"
          aria-pressed={reasonCode === chosen}
          onClick={() => onChoose(reasonCode === chosen ? null : reasonCode)}
        >
          {reasonCode === 'READY' ? 'their turn' : reasonCode} <b>{count}</b>
        </button>
      ))}
      {counted < total && <span className="quiet">of the first {counted}</span>}
    </fieldset>
  );
}
