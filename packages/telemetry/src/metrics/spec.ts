/** What a metric's declaration is made of. */

/** A closed list of values, or an open one of which only the first `atMost` are kept; the rest become `other`. */
export type LabelSpec = readonly string[] | { readonly atMost: number };
export type LabelSpecs = Readonly<Record<string, LabelSpec>>;

/** What alert rules are generated from. `{metric}` in `when` stands for the Prometheus name. */
export interface AlertHint {
  readonly when: string;
  readonly forMs: number;
  readonly severity: 'page' | 'ticket';
  readonly summary: string;
  /** The first thing to do. */
  readonly firstStep: string;
}

export type MetricKind = 'counter' | 'histogram' | 'gauge';

export interface MetricSpec<Kind extends MetricKind = MetricKind, Labels extends LabelSpecs = LabelSpecs> {
  readonly kind: Kind;
  /** The OpenTelemetry name; the Prometheus spelling is derived (`prometheusName`). */
  readonly name: string;
  /** UCUM: `s`, `{run}`, `USD`. */
  readonly unit: string;
  readonly description: string;
  readonly labels: Labels;
  readonly alert: AlertHint | null;
  /** Upper bounds of a histogram's buckets, in `unit`; empty for the other kinds. */
  readonly buckets: readonly number[];
}

interface Declaration<Labels extends LabelSpecs> {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
  readonly labels?: Labels;
  readonly alert?: AlertHint;
}

const declare = <Kind extends MetricKind, Labels extends LabelSpecs>(
  kind: Kind,
  declaration: Declaration<Labels>,
  buckets: readonly number[],
): MetricSpec<Kind, Labels> => ({
  kind,
  name: declaration.name,
  unit: declaration.unit,
  description: declaration.description,
  labels: declaration.labels ?? ({} as Labels),
  alert: declaration.alert ?? null,
  buckets,
});

// biome-ignore lint/complexity/noBannedTypes: {} is exactly "no labels" here, and keyof {} is never.
export const counter = <const Labels extends LabelSpecs = {}>(declaration: Declaration<Labels>) =>
  declare('counter', declaration, []);
// biome-ignore lint/complexity/noBannedTypes: as above.
export const gauge = <const Labels extends LabelSpecs = {}>(declaration: Declaration<Labels>) =>
  declare('gauge', declaration, []);
// biome-ignore lint/complexity/noBannedTypes: as above.
export const histogram = <const Labels extends LabelSpecs = {}>(
  declaration: Declaration<Labels> & { readonly buckets: readonly number[] },
) => declare('histogram', declaration, declaration.buckets);
