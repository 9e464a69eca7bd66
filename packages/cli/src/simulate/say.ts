/** A simulation for people. */
import type { SimulationFigures } from '@headgate/admission';
import { table } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { count, timeOfDay, usd } from '../terminal/words.js';
import type { SimulationReport } from './run.js';

const MAX_DIFFERENCES = 20;

export function reportLines(report: SimulationReport, terminal: Terminal): string {
  const { active, other, differences, lost, signals, version } = report;
  const lines = [
    `${count(signals, 'signal')} since ${report.since.toISOString()}, decided again. Nothing was started or written.`,
  ];
  if (lost > 0) {
    lines.push(
      terminal.colors.yellow(
        `${count(lost, 'delivery').replace('deliverys', 'deliveries')} could not be: what they said is not kept (found by a look, unreadable, or older than retention.payloads).`,
      ),
    );
  }
  lines.push('', figuresTable(active, other, version, terminal));
  if (other !== null) {
    lines.push(
      '',
      differences.length === 0
        ? 'No signal is decided differently.'
        : `Decided differently (${differences.length}):`,
    );
    for (const { at, signal, before, after } of differences.slice(0, MAX_DIFFERENCES)) {
      lines.push(`  ${timeOfDay(at)}  ${signal}`);
      lines.push(terminal.colors.red(`    - ${before.join(', ') || 'nothing'}`));
      lines.push(terminal.colors.green(`    + ${after.join(', ') || 'nothing'}`));
    }
    if (differences.length > MAX_DIFFERENCES) {
      lines.push(`  … and ${differences.length - MAX_DIFFERENCES} more: --json tells all`);
    }
  }
  return lines.join('\n');
}

function figuresTable(
  active: SimulationFigures,
  other: SimulationFigures | null,
  version: number,
  terminal: Terminal,
): string {
  const columns = other === null ? [active] : [active, other];
  const row = (name: string, of: (figures: SimulationFigures) => string): string[] => [
    name,
    ...columns.map(of),
  ];
  const reasons = [...new Set(columns.flatMap(({ skipped }) => Object.keys(skipped)))].sort();
  const routes = [...new Set(columns.flatMap(({ routes: all }) => all.map(({ route }) => route)))].sort();
  const money = (amount: number | null): string => (amount === null ? 'not known' : usd(amount));
  return table(
    terminal,
    ['', `active (version ${version})`, ...(other === null ? [] : ['the file'])],
    [
      row('runs', ({ runs }) => `${runs}`),
      ...routes.map((route) =>
        row(`  ${route}`, (figures) => `${figures.routes.find((one) => one.route === route)?.runs ?? 0}`),
      ),
      row('pull requests, at most', ({ pullRequests }) => `${pullRequests}`),
      row('estimated cost', ({ estimatedUsd }) => money(estimatedUsd)),
      row('cost at most', ({ maxUsd }) => (maxUsd === null ? 'no limit' : usd(maxUsd))),
      ...reasons.map((reason) =>
        row(
          reason,
          ({ skipped }) => `${Object.entries(skipped).find(([code]) => code === reason)?.[1] ?? 0}`,
        ),
      ),
    ],
  );
}
