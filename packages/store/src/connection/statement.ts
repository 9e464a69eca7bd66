/**
 * A named statement. Every hot statement of Headgate is one of these, beside the table it belongs to, so that
 * it can be found, explained (plan tests) and counted.
 */
export interface Statement {
  /** `queue_item.ready_heads`: the table, a dot, the verb. Also the server-side prepared name. */
  readonly name: string;
  readonly text: string;
}

const registry = new Map<string, Statement>();

/** Declares a statement. A name is declared once. */
export function statement(name: string, text: string): Statement {
  if (registry.has(name)) throw new Error(`statement ${name} is declared twice`);
  const declared = { name, text: text.trim() };
  registry.set(name, declared);
  return declared;
}

/** All declared statements: for plan tests and for `doctor`. */
export const declaredStatements = (): readonly Statement[] => [...registry.values()];
