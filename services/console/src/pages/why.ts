import type { Explanation } from '@headgate/sdk';
import { type Html, html } from './html.js';
import { moment, outcomeBadge, runLink, waitingBox, whyLink } from './parts.js';

export function whyPage(explanation: Explanation | null): Html {
  if (explanation === null) {
    return html`<h1>Why?</h1>
    <p class="empty">Search for a delivery id, a run, a task, a work key, <code>owner/repo#7</code>, a URL of the forge,
    or a commit.</p>`;
  }
  return html`
  <h1>Why <span class="id">${explanation.ref}</span></h1>
  <p class="summary">${explanation.summary}</p>
  ${explanation.waiting !== null && waitingBox(explanation.waiting)}
  ${explanation.steps.length > 0 && steps(explanation)}
  ${explanation.candidates.length > 0 && candidates(explanation)}`;
}

const steps = ({ steps: list }: Explanation): Html =>
  html`<ol class="chain">${list.map(
    (step, at) => html`<li data-key="${step.receiptId ?? step.runId ?? ''}-${step.at}-${at}">
    <span class="when">${moment(step.at)}</span>
    <span class="what">${step.outcome === null ? html`<b>${step.type}</b>` : outcomeBadge(step.outcome)}
      ${step.reasonCode !== null && html`<b>${step.reasonCode}</b>`} ${step.message}
      <span class="quiet">${step.rule !== null && html`rule ${step.rule} `}${
        step.actor !== null && html`by ${step.actor} `
      }${step.runId !== null && runLink(step.runId)}</span></span></li>`,
  )}</ol>`;

const candidates = ({ kind, candidates: list }: Explanation): Html => html`
  <section aria-labelledby="more"><h2 id="more">${kind === 'none' ? 'What to check' : 'It may mean'}</h2>
  <ul>${list.map(
    (one) =>
      html`<li data-key="${one.id}">${
        one.kind === 'task'
          ? whyLink(one.id, one.label)
          : html`${one.kind === 'source' && html`<b>${one.id}</b> `}${one.label}`
      }</li>`,
  )}</ul></section>`;
