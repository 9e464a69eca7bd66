/** What Postgres says of a statement that it ran. */
import { declaredStatements } from '@headgate/store';

/** A node of a plan, as far as we judge it. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'WAL Bytes': number;
  readonly Plans?: readonly PlanNode[];
}

export interface Plan {
  /** Name of the declared statement; its text where it has none. */
  readonly statement: string;
  /** Pages looked at, wherever they were found. */
  readonly buffers: number;
  readonly walBytes: number;
  readonly indexes: ReadonlySet<string>;
  /** Tables that were read from end to end. */
  readonly wholeTables: ReadonlySet<string>;
  readonly text: string;
}

const PREFIX = /^duration: [\d.]+ ms {2}plan:\n/;

/** Reads a notice of auto_explain; null if it is something else. */
export function readPlan(notice: string): Plan | null {
  const prefix = PREFIX.exec(notice);
  if (prefix === null) return null;
  const text = notice.slice(prefix[0].length);
  const said = JSON.parse(text) as { 'Query Text': string; Plan: PlanNode };
  const nodes = [...nodesOf(said.Plan)];
  const root = said.Plan;
  return {
    statement: nameOf(said['Query Text']),
    buffers: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
    walBytes: root['WAL Bytes'],
    indexes: new Set(nodes.flatMap((node) => node['Index Name'] ?? [])),
    wholeTables: new Set(
      nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : [])),
    ),
    text,
  };
}

function nameOf(text: string): string {
  return declaredStatements().find((one) => one.text === text)?.name ?? text;
}

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node;
  for (const child of node.Plans ?? []) yield* nodesOf(child);
}
