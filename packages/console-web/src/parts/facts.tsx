/** What is known of one thing: a name and a value each. */
import type { ReactNode } from 'react';
import classes from './facts.module.css';

export function Facts({ children }: { readonly children: ReactNode }) {
  return <dl className={classes['facts']}>{children}</dl>;
}

export function Fact(props: {
  readonly name: string;
  /** It takes the whole line: a sentence, not a value. */
  readonly isLong?: boolean;
  readonly children: ReactNode;
}) {
  const { name, isLong = false, children } = props;
  return (
    <div className={isLong ? classes['long'] : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
