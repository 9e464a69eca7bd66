/** Empty, loading, broken: each says what it is, and what to do. */
import { HeadgateProblem, HeadgateUnreachable } from '@headgate/sdk';
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './states.module.css';

export interface FaultWords {
  readonly title: string;
  readonly detail: string;
  readonly code: string | null;
}

export function faultWords(fault: unknown): FaultWords {
  if (fault instanceof HeadgateProblem) {
    const { title, detail, code } = fault.problem;
    return { title, detail, code };
  }
  if (fault instanceof HeadgateUnreachable) {
    return {
      title: 'Headgate does not answer.',
      detail: 'Nothing was changed here. Is it running? `headgate status` says what is wrong, since when.',
      code: null,
    };
  }
  return {
    title: 'This page failed.',
    detail: fault instanceof Error ? fault.message : String(fault),
    code: null,
  };
}

export function Broken(props: {
  readonly fault: unknown;
  readonly onRetry?: () => void;
  /** There is nothing else on the page. */
  readonly isPage?: boolean;
}) {
  const { fault, onRetry, isPage = false } = props;
  const { title, detail, code } = faultWords(fault);
  return (
    <section className={classes['state']} role="alert">
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      <p>{detail}</p>
      {code !== null && <p className="quiet mono">{code}</p>}
      {onRetry !== undefined && (
        <p>
          <Button variant="default" size="xs" onClick={onRetry}>
            Try again
          </Button>
        </p>
      )}
    </section>
  );
}

/** What was asked for was not done: said beside the button that asked. */
export function Refused({ fault }: { readonly fault: unknown }) {
  if (fault === null) return null;
  const { title, detail } = faultWords(fault);
  return (
    <p role="alert" className={classes['refused']}>
      {title} {detail}
    </p>
  );
}

/** What would fill the page, and how. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <section className={classes['state']}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <p className={classes['loading']} role="status">
      Reading {what} …
    </p>
  );
}
