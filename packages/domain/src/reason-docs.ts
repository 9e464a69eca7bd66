/** `docs/reason-codes.md`, derived from the catalogue. */
import { REASON_CODES, type ReasonClass, type RetryClass, reasonOf } from './reasons.js';

const CLASSES: Readonly<Record<ReasonClass, { readonly title: string; readonly about: string }>> = {
  accept: { title: 'Accepted', about: 'Outcome `accept`: there is work, and a run for it.' },
  defer: { title: 'Deferred', about: 'Outcome `defer`: decided again at `retryAfter`.' },
  reject: { title: 'Rejected', about: 'Outcome `reject`: the signal leads to no run.' },
  'no-work': {
    title: 'No work',
    about: 'Outcome `no-work`: a quiet and legitimate result; nothing was to do.',
  },
  waiting: { title: 'Waiting', about: 'Why a run that was admitted has not started.' },
  failure: { title: 'Failed attempts', about: 'Why an attempt, or a run, failed.' },
  cancel: { title: 'Cancelled', about: 'Somebody wanted it to end.' },
  done: { title: 'Done', about: 'The run reached its end.' },
  repair: { title: 'Repairs', about: 'What the reconciler put right; each is an event.' },
  alert: { title: 'Alerts', about: 'Nothing is wrong with one run; something around them is.' },
};

const RETRIES: Readonly<Record<RetryClass, string>> = {
  none: 'not retried',
  later: 'tried again later; not an attempt, nothing is charged',
  application: 'retried with back-off, at most `retry.maxAttempts` times in all',
  infrastructure: 'retried with back-off, under the ceiling for infrastructure failures',
  'lease-lost': 'retried with back-off, under the ceiling for lost leases',
  'rate-limit': 'retried when the provider allows, until a deadline',
  uncharged: 'retried at once, nothing is charged',
};

/** The whole file. */
export function reasonCodesMarkdown(): string {
  const sections = (Object.keys(CLASSES) as readonly ReasonClass[]).map(sectionOf);
  return `${INTRODUCTION}\n\n${sections.join('\n\n')}\n`;
}

const INTRODUCTION = `# Reason codes

Every receipt, event, waiting run and failed attempt names one of these codes. The list is closed: a code that
is not here cannot appear. Retry is decided by the code alone. \`POST /v1/work\` answers with the HTTP status
given; webhooks are answered 202 for every outcome.

This file is generated from the catalogue by \`node scripts/generate-docs.mjs\`.`;

function sectionOf(reasonClass: ReasonClass): string {
  const { title, about } = CLASSES[reasonClass];
  const codes = REASON_CODES.filter((code) => reasonOf(code).class === reasonClass);
  const entries = codes.map((code) => {
    const { message, httpStatus, retry } = reasonOf(code);
    const isAnswer = ['accept', 'defer', 'reject', 'no-work'].includes(reasonClass);
    const facts = isAnswer ? `HTTP ${httpStatus}; ${RETRIES[retry]}.` : `${capital(RETRIES[retry])}.`;
    return `### ${code}\n\n${message} ${facts}`;
  });
  return [`## ${title}`, about, ...entries].join('\n\n');
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
