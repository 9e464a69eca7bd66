import type { Artifact, RunDetail } from '@headgate/sdk';
import { type Html, html } from './html.js';
import { moment, outsideLink, situation, statusBadge, usd, waitingBox, whyLink } from './parts.js';

export interface RunFacts {
  readonly run: RunDetail;
  readonly artifacts: readonly Artifact[];
  readonly mayAct: boolean;
}

export function runPage({ run, artifacts, mayAct }: RunFacts): Html {
  return html`
  <h1>${run.route} <span class="quiet">${run.repository}</span></h1>
  <p>${statusBadge(run.publicStatus)} <b>${run.status}</b> ${situation(run)}</p>
  ${run.waiting !== null && waitingBox(run.waiting)}
  ${mayAct && actions(run)}
  <p id="answer" role="status"></p>
  <dl class="facts">
    ${fact('run', html`<span class="id">${run.id}</span>`)}
    ${fact('task', html`<span class="id">${run.taskId}</span> generation ${run.generation}`)}
    ${fact('work', html`<span class="id">${run.workKey} @ ${run.inputVersion}</span> ${whyLink(run.workKey, 'why')}`)}
    ${fact('branch', html`<span class="id">${run.branch ?? '–'}</span>`)}
    ${fact('agent', html`${run.agent}, mode ${run.mode}, queue ${run.queue}, policy v${run.policyVersion}`)}
    ${fact('cost', html`${usd(run.cost.actualUsd)}${run.cost.maxUsd !== null && html` of ${usd(run.cost.maxUsd)}`}`)}
    ${fact('created', moment(run.createdAt))}
    ${fact('started', moment(run.startedAt))}
    ${fact('finished', moment(run.finishedAt))}
    ${fact('receipt', whyLink(run.receiptId, run.receiptId))}
  </dl>
  <section aria-labelledby="attempts"><h2 id="attempts">Attempts</h2>${attempts(run)}</section>
  <section aria-labelledby="operations"><h2 id="operations">Side effects</h2>${operations(run)}</section>
  <section aria-labelledby="artifacts"><h2 id="artifacts">Artifacts</h2>${files(artifacts)}</section>
  <section aria-labelledby="events"><h2 id="events">Events</h2>${events(run)}</section>`;
}

const fact = (name: string, value: Html): Html => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;

function actions(run: RunDetail): Html {
  const hasEnded = run.finishedAt !== null;
  return html`<p class="actions">
    ${!hasEnded && html`<button type="button" data-action="/v1/runs/${run.id}/cancel">Cancel run</button>`}
    ${hasEnded && html`<button type="button" data-action="/v1/runs/${run.id}/retry">Run again</button>`}
  </p>`;
}

const attempts = ({ attempts: list }: RunDetail): Html =>
  list.length === 0
    ? html`<p class="empty">No worker has claimed it yet.</p>`
    : html`<table><thead><tr><th scope="col">#</th><th scope="col">Status</th><th scope="col">Reason</th>
      <th scope="col">Worker</th><th scope="col">Fence</th><th scope="col">From</th><th scope="col">To</th></tr></thead>
    <tbody>${list.map(
      (attempt) => html`<tr data-key="${attempt.id}"><td>${attempt.number}</td><td>${attempt.status}</td>
      <td>${attempt.reasonCode}</td><td class="id">${attempt.workerId}</td><td>${attempt.fencingToken}</td>
      <td>${moment(attempt.startedAt)}</td><td>${moment(attempt.finishedAt)}</td></tr>`,
    )}</tbody></table>`;

const operations = ({ operations: list }: RunDetail): Html =>
  list.length === 0
    ? html`<p class="empty">None intended.</p>`
    : html`<table><thead><tr><th scope="col">Kind</th><th scope="col">Status</th><th scope="col">Result</th>
      <th scope="col">Key</th></tr></thead>
    <tbody>${list.map(
      (one) => html`<tr data-key="${one.key}"><td>${one.kind}</td><td>${one.status}</td>
      <td class="id">${outsideLink(one.url, one.externalId ?? one.url ?? '–')}</td><td class="id">${one.key}</td></tr>`,
    )}</tbody></table>`;

const files = (list: readonly Artifact[]): Html =>
  list.length === 0
    ? html`<p class="empty">None kept.</p>`
    : html`<ul>${list.map(
        (file) => html`<li data-key="${file.id}"><a href="${file.url}">${file.name}</a>
        <span class="quiet">attempt ${file.attempt}, ${file.bytes} bytes</span></li>`,
      )}</ul>`;

const events = ({ events: list }: RunDetail): Html => html`<table>
  <thead><tr><th scope="col">At (UTC)</th><th scope="col">Event</th><th scope="col">Step</th>
    <th scope="col">Reason</th><th scope="col">Actor</th></tr></thead>
  <tbody>${list.map(
    (
      event,
    ) => html`<tr data-key="${event.id}"><td><time datetime="${event.at}">${event.at.slice(11, 23)}</time></td>
    <td>${event.type}</td><td>${event.from !== null && html`${event.from} → `}${event.to}</td>
    <td>${event.reasonCode}</td><td class="id">${event.actor}</td></tr>`,
  )}</tbody></table>`;
