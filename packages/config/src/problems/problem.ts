/** One thing wrong with the configuration, said so that a person can mend it without reading code. */
export interface Problem {
  /** `routes.tidy.on[0].cron`; empty for the file as a whole. */
  readonly path: string;
  /** From 1; null when there is no place in a file (an environment variable, a missing file). */
  readonly line: number | null;
  readonly column: number | null;
  /** What is wrong. */
  readonly message: string;
  /** What to do. */
  readonly fix: string;
}

/** A path in the parsed file: keys and list positions. */
export type Path = readonly (string | number)[];

/** What is wrong and what to do, before it is known where. */
export interface Complaint {
  readonly message: string;
  readonly fix: string;
}

/** `['routes', 'tidy', 'on', 0]` -> `routes.tidy.on[0]`; a key with other characters is quoted. */
export function formatPath(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[\w-]+$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}

/** One line per problem: `headgate.yaml:12:5 routes.tidy.mode: … Write …` */
export function formatProblems(problems: readonly Problem[], file: string): string {
  return problems
    .map(({ path, line, column, message, fix }) => {
      const place = line === null ? file : `${file}:${line}:${column ?? 1}`;
      const sentence = `${message.endsWith('.') ? message.slice(0, -1) : message}. ${fix}`.trim();
      return `${place} ${path === '' ? '' : `${path}: `}${sentence}`;
    })
    .join('\n');
}

/** By place in the file, then by path: the order in which a person mends them. */
export function sortProblems(problems: readonly Problem[]): readonly Problem[] {
  return [...problems].sort(
    (a, b) =>
      (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0) || a.path.localeCompare(b.path),
  );
}
