import type { ReasonCode } from '@headgate/domain';

/** A result that will not be taken, with the path and the rule. */
export interface Refusal {
  readonly kind: 'refused';
  readonly reasonCode: ReasonCode;
  readonly detail: string;
}

export const refused = (reasonCode: ReasonCode, detail: string): Refusal => ({
  kind: 'refused',
  reasonCode,
  detail,
});

/** A path in a message: quoted, so that a newline in it forges nothing. */
export const quoted = (path: string): string => JSON.stringify(path);
