import type { Receipt, Run } from '@headgate/sdk';
import { type Html, html } from './html.js';
import { moment, outcomeBadge, situation, statusBadge, usd } from './parts.js';

export interface HomeFacts {
  readonly runs: readonly Run[];
  readonly receipts: readonly Receipt[];
  /** By public status, of all that stand in the queue or hold a lease. */
  readonly running: number;
  readonly ready: number;
  readonly delayed: number;
  readonly liveWorkers: number;
  readonly oldestReadyAt: string | null;
  readonly spentTodayUsd: number;
}

export const homePage = (facts: HomeFacts): Html => html`
  <h1 class="hidden">Runs and receipts</h1>
  <dl class="figures">
    <div><dt>running</dt><dd>${facts.running}</dd></div>
    <div><dt>ready</dt><dd>${facts.ready}</dd></div>
    <div><dt>delayed</dt><dd>${facts.delayed}</dd></div>
    <div><dt>oldest ready</dt><dd>${moment(facts.oldestReadyAt)}</dd></div>
    <div><dt>live workers</dt><dd>${facts.liveWorkers}</dd></div>
    <div><dt>settled today</dt><dd>${usd(facts.spentTodayUsd)}</dd></div>
  </dl>
  <section aria-labelledby="runs"><h2 id="runs">Runs</h2>${runTable(facts.runs)}</section>
  <section aria-labelledby="receipts"><h2 id="receipts">Receipts</h2>${receiptTable(facts.receipts)}</section>`;

function runTable(runs: readonly Run[]): Html {
  if (runs.length === 0) {
    return html`<p class="empty">No run yet. Send one: <code>headgate send check_run.completed</code></p>`;
  }
  return html`<table>
    <thead><tr><th scope="col">Status</th><th scope="col">Run</th><th scope="col">Where</th>
      <th scope="col">Now</th><th scope="col" class="number">Cost</th><th scope="col">Since (UTC)</th></tr></thead>
    <tbody>${runs.map(
      (run) => html`<tr data-key="${run.id}">
      <td>${statusBadge(run.publicStatus)}</td>
      <td><a data-row href="/runs/${run.id}">${run.route}</a></td>
      <td>${run.repository} <span class="id quiet">${run.workKey} @ ${run.inputVersion.slice(0, 12)}</span></td>
      <td>${situation(run)}</td>
      <td class="number">${usd(run.cost.actualUsd)}</td>
      <td>${moment(run.statusAt)}</td></tr>`,
    )}</tbody></table>`;
}

function receiptTable(receipts: readonly Receipt[]): Html {
  if (receipts.length === 0) {
    return html`<p class="empty">Nothing has arrived. A webhook goes to <code>/webhooks/{source}</code>; a schedule ticks by itself.</p>`;
  }
  return html`<table>
    <thead><tr><th scope="col">Outcome</th><th scope="col">Signal</th><th scope="col">Reason</th>
      <th scope="col">Rule</th><th scope="col">At (UTC)</th></tr></thead>
    <tbody>${receipts.map(
      (receipt) => html`<tr data-key="${receipt.id}">
      <td>${outcomeBadge(receipt.outcome)}</td>
      <td><a data-row href="/why?ref=${receipt.id}">${receipt.delivery.type}</a>
        <span class="quiet">${receipt.delivery.source}</span></td>
      <td><b>${receipt.reasonCode}</b> ${receipt.message}</td>
      <td class="id">${receipt.rule}</td>
      <td>${moment(receipt.createdAt)}</td></tr>`,
    )}</tbody></table>`;
}
