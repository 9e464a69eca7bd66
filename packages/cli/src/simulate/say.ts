/** A simulation for people. */
import type { SimulationFigures } from '@headgate/admission';
import { table } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { count, usd } from '../terminal/words.js';
import { wrapped } from '../terminal/wrap.js';
import type { SimulationReport } from './report.js';

const MAX_DIFFERENCES = 20;

export function reportLines(report: SimulationReport, terminal: Terminal): string {
  return [
    ...opening(report, terminal),
    ...unseen(report, terminal),
    '',
    figuresTable(report, terminal),
    ...differenceLines(report, terminal),
  ]
    .flatMap((line) => line.split('\n'))
    .flatMap((line) => wrapped(line, terminal, ' '.repeat(line.search(/\S|$/))))
    .join('\n');
}

function opening({ from, since, signals, looks }: SimulationReport, { colors }: Terminal): readonly string[] {
  const asked = count(looks.length, 'repository').replace('repositorys', 'repositories');
  return [
    from === 'receipts'
      ? `${count(signals, 'signal')} since ${minute(since)}, decided again.`
      : `${count(signals, 'signal')} of ${asked} since ${minute(since)}, as a look would find them.`,
    colors.dim('Nothing was started or written.'),
    ...(from === 'receipts'
      ? []
      : [colors.dim('Timers, goals and requests of people are not on the forge: they are not counted.')]),
  ];
}

function unseen({ lost, complete, looks }: SimulationReport, { colors }: Terminal): readonly string[] {
  return [
    ...(lost === 0
      ? []
      : [
          colors.yellow(
            `${count(lost, 'delivery').replace('deliverys', 'deliveries')} could not be: what they said is not kept (found by a look, unreadable, or older than retention.payloads).`,
          ),
        ]),
    ...(complete ? [] : ['', colors.yellow('Partial: not all of it could be seen, so there may be more.')]),
    ...looks
      .filter(({ outcome }) => outcome !== 'whole')
      .map(
        ({ source, repository, outcome, detail }) =>
          `  ${repository} (${source})  ${colors.bold(outcome)}  ${detail ?? ''}`,
      ),
  ];
}

function differenceLines(
  { active, other, differences }: SimulationReport,
  { colors }: Terminal,
): readonly string[] {
  if (active === null || other === null) return [];
  if (differences.length === 0) return ['', 'No signal is decided differently.'];
  const more = differences.length - MAX_DIFFERENCES;
  return [
    '',
    `Decided differently (${differences.length}):`,
    ...differences
      .slice(0, MAX_DIFFERENCES)
      .flatMap(({ at, signal, before, after }) => [
        `  ${minute(at)}  ${signal}`,
        colors.red(`    - ${before.join(', ') || 'nothing'}`),
        colors.green(`    + ${after.join(', ') || 'nothing'}`),
      ]),
    ...(more > 0 ? [`  … and ${more} more: --json tells all`] : []),
  ];
}

function figuresTable({ active, other, version }: SimulationReport, terminal: Terminal): string {
  const columns: readonly (readonly [string, SimulationFigures])[] = [
    ...(active === null ? [] : [[`active (version ${version})`, active] as const]),
    ...(other === null ? [] : [['the file', other] as const]),
  ];
  const all = columns.map(([, figures]) => figures);
  const row = (name: string, of: (figures: SimulationFigures) => string): string[] => [name, ...all.map(of)];
  const reasons = [...new Set(all.flatMap(({ skipped }) => Object.keys(skipped)))].sort();
  const routes = [...new Set(all.flatMap((figures) => figures.routes.map(({ route }) => route)))].sort();
  const money = (amount: number | null): string => (amount === null ? 'not known' : usd(amount));
  return table(
    terminal,
    ['', ...columns.map(([title]) => title)],
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

/** `2026-01-31 13:50Z`. */
const minute = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')}Z`;
