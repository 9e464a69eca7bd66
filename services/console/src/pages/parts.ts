/** Small pieces that several pages show. Status by shape and word as well as colour. */
import type { Receipt, Run, Waiting } from '@headgate/sdk';
import { type Html, html } from './html.js';

const MARKS: Readonly<Record<Run['publicStatus'], string>> = {
  waiting: '○',
  running: '◐',
  succeeded: '✓',
  failed: '✕',
  cancelled: '⊘',
  skipped: '–',
};

export const statusBadge = (publicStatus: Run['publicStatus']): Html =>
  html`<span class="status ${publicStatus}"><span aria-hidden="true">${MARKS[publicStatus]}</span> ${publicStatus}</span>`;

const OUTCOME_MARKS: Readonly<Record<Receipt['outcome'], string>> = {
  accept: '✓',
  defer: '◷',
  reject: '✕',
  'no-work': '–',
};

export const outcomeBadge = (outcome: Receipt['outcome']): Html =>
  html`<span class="status ${outcome}"><span aria-hidden="true">${OUTCOME_MARKS[outcome]}</span> ${outcome}</span>`;

/** Exact; the time of day alone would be ambiguous between two days. */
export const moment = (at: string | null): Html =>
  at === null
    ? html`<span class="quiet">–</span>`
    : html`<time datetime="${at}">${at.slice(0, 19).replace('T', ' ')}</time>`;

export const usd = (amount: number): string => `$${amount.toFixed(2)}`;

export const runLink = (id: string): Html =>
  html`<a class="id" href="/runs/${encodeURIComponent(id)}">${id}</a>`;

export const whyLink = (ref: string, label: string): Html =>
  html`<a href="/why?ref=${encodeURIComponent(ref)}">${label}</a>`;

/** `https:` and `http:` only: what stands in a row may be anything. */
export const outsideLink = (url: string | null, label: string): Html =>
  url !== null && /^https?:\/\//i.test(url)
    ? html`<a href="${url}" rel="noopener noreferrer">${label}</a>`
    : html`${label}`;

/** What a run does, or waits for, in one line. */
export function situation(run: Run): Html {
  if (run.waiting !== null) return html`<b>${run.waiting.reasonCode}</b> ${run.waiting.message}`;
  if (run.publicStatus === 'running')
    return html`${run.status.toLowerCase().replaceAll('_', ' ')}, attempt ${run.attempt}`;
  const reason = run.reasonCode === null || run.reasonCode === 'SUCCEEDED' ? '' : run.reasonCode;
  return html`${reason} ${run.branch !== null && html`→ <span class="id">${run.branch}</span>`}`;
}

export const waitingBox = (waiting: Waiting): Html => html`
  <section class="notice" aria-label="What it waits for">
    <p><b>${waiting.reasonCode}</b> ${waiting.message}</p>
    <p>Starts when: ${waiting.wouldStartWhen}</p>
    <p class="quiet">since ${moment(waiting.since)}${waiting.until !== null && html`, until ${moment(waiting.until)}`}</p>
  </section>`;
