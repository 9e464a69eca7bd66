import type { Feedback } from '@headgate/sdk';
import { OutsideLink } from './id.js';
import { Moment } from './moment.js';

/** What a person was told where they asked, once. */
export function Told({ feedback }: { readonly feedback: Feedback }) {
  const { repository, number, status, message, url, detail, settledAt } = feedback;
  const place = `${repository}#${number}`;
  return (
    <>
      {STATES[status]} <OutsideLink url={url} label={place} />
      {settledAt !== null && (
        <>
          {' '}
          at <Moment at={settledAt} />
        </>
      )}
      : {message}
      {detail !== null && <span className="quiet"> {detail}</span>}
    </>
  );
}

const STATES: Readonly<Record<Feedback['status'], string>> = {
  intended: 'To be told at',
  attempted: 'Being told at',
  confirmed: 'Told at',
  ambiguous: 'Perhaps told at',
  abandoned: 'Not told at',
};
