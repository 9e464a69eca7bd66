/** What "run now" and a back-fill are asked with: an overlap rule of their own, and why. */
import { NativeSelect, TextInput } from '@mantine/core';
import { OVERLAPS, type Overlap } from './contract.js';

export interface Asked {
  /** Null: the schedule's own. */
  readonly overlap: Overlap | null;
  readonly reason: string;
}

export const NOTHING_ASKED: Asked = { overlap: null, reason: '' };

export const requestOf = ({ overlap, reason }: Asked) => ({
  ...(overlap === null ? {} : { overlap }),
  ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
});

const MAX_REASON_CHARACTERS = 2_000;
const RULES = Object.keys(OVERLAPS).filter((rule): rule is Overlap => rule in OVERLAPS);

export function AskedFields(props: {
  readonly own: Overlap;
  readonly asked: Asked;
  readonly onChange: (asked: Asked) => void;
}) {
  const { own, asked, onChange } = props;
  return (
    <>
      <NativeSelect
        label="Overlap"
        description={OVERLAPS[asked.overlap ?? own]}
        data={[{ value: '', label: `its own: ${own}` }, ...RULES]}
        value={asked.overlap ?? ''}
        onChange={(event) => {
          const { value } = event.currentTarget;
          onChange({ ...asked, overlap: RULES.find((rule) => rule === value) ?? null });
        }}
        w="100%"
      />
      <TextInput
        label="Reason"
        description="Kept with what is asked."
        value={asked.reason}
        maxLength={MAX_REASON_CHARACTERS}
        onChange={(event) => onChange({ ...asked, reason: event.currentTarget.value })}
        w="100%"
      />
    </>
  );
}
