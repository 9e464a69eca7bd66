/** An id that copies itself. */
import { useState } from 'react';
import classes from './id.module.css';

const SHOWN_MS = 1_200;

export function Id({ value, label }: { readonly value: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(value);
    setCopied(true);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <span className={classes['id']}>
      <span className="mono" title={value}>
        {label ?? value}
      </span>
      <button
        type="button"
        className={classes['copy']}
        onClick={() => void copy()}
        aria-label={`Copy ${value}`}
      >
        {isCopied ? '✓' : <CopyMark />}
      </button>
      <span role="status" className="hidden">
        {isCopied ? 'Copied' : ''}
      </span>
    </span>
  );
}

const CopyMark = () => (
  <svg viewBox="0 0 16 16" width="13" height="13" aria-hidden="true" fill="none" stroke="currentColor">
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M3.5 10.5h-1v-8h8v1" />
  </svg>
);

/** `https:` and `http:` only: what stands in a row may be anything. */
export function OutsideLink({ url, label }: { readonly url: string | null; readonly label: string }) {
  if (url === null || !/^https?:\/\//i.test(url)) return <>{label}</>;
  return (
    <a href={url} rel="noopener noreferrer" target="_blank">
      {label}
    </a>
  );
}
