/**
 * What an expression may contain, checked on its syntax tree before it is ever run.
 *
 * CEL always ends, but not always soon: `matches` is a JavaScript regular expression in this library (one
 * ran for 94 seconds on 37 characters), `all` inside `all` multiplies, `bind` doubles text. So functions
 * are an allow-list, and a list may be walked only once per level.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { type Complaint, suggest } from '../problems/index.js';
import type { Roots } from './context.js';

const FUNCTIONS = [
  ...['has', 'size', 'string', 'int', 'double', 'bool', 'type', 'dyn', 'timestamp', 'duration'],
  ...['startsWith', 'endsWith', 'contains', 'lowerAscii', 'upperAscii', 'trim'],
  ...['getFullYear', 'getMonth', 'getDate', 'getDayOfMonth', 'getDayOfWeek', 'getHours', 'getMinutes'],
] as const;
/** Functions that walk a list. */
const WALKS = ['all', 'exists', 'exists_one', 'map', 'filter'] as const;
const ALLOWED: readonly string[] = [...FUNCTIONS, ...WALKS];

export interface Inspection {
  readonly complaint: Complaint | null;
  /** Dotted paths that are read: `event.check_run.conclusion`, `repository.id`. */
  readonly reads: ReadonlySet<string>;
  readonly walksLists: boolean;
}

export function inspect(ast: ASTNode, roots: Roots): Inspection {
  const reads = new Set<string>();
  let complaint: Complaint | null = null;
  let walksLists = false;
  const refuse = (message: string, fix: string): void => {
    complaint ??= { message, fix };
  };

  const call = (name: string, insideWalk: boolean): boolean => {
    if (name === 'matches') {
      refuse(
        'matches() is not supported: a regular expression can run for ever',
        'Use startsWith, endsWith or contains.',
      );
    } else if (!ALLOWED.includes(name)) {
      refuse(`there is no function ${name}()`, suggest(name, ALLOWED));
    }
    if (!(WALKS as readonly string[]).includes(name)) return insideWalk;
    if (insideWalk) refuse(`${name}() stands inside another walk over a list`, 'Walk one list at a time.');
    walksLists = true;
    return true;
  };

  const visit = (node: ASTNode, bound: ReadonlySet<string>, insideWalk: boolean): void => {
    switch (node.op) {
      case 'value':
        return;
      case 'id':
        if (!bound.has(node.args)) reads.add(node.args);
        return;
      case '.':
      case '.?': {
        const path = dotted(node);
        if (path !== null && !bound.has(path[0] ?? '')) {
          reads.add(path.join('.'));
          checkRoot(path, roots, refuse);
        }
        visit(node.args[0], bound, insideWalk);
        return;
      }
      case 'call': {
        const [name, args] = node.args;
        const inside = call(name, insideWalk);
        for (const arg of args) visit(arg, bound, inside);
        return;
      }
      case 'rcall': {
        const [name, receiver, args] = node.args;
        visit(receiver, bound, insideWalk);
        const inside = call(name, insideWalk);
        const variable = inside && !insideWalk && args[0]?.op === 'id' ? args[0].args : null;
        const scope = variable === null ? bound : new Set([...bound, variable]);
        for (const arg of args) visit(arg, scope, inside);
        return;
      }
      case 'map':
        for (const [key, value] of node.args) {
          visit(key, bound, insideWalk);
          visit(value, bound, insideWalk);
        }
        return;
      case '!_':
      case '-_':
        visit(node.args, bound, insideWalk);
        return;
      default:
        for (const child of node.args) visit(child, bound, insideWalk);
    }
  };
  visit(ast, new Set(), false);
  return { complaint, reads, walksLists };
}

/** `a.b.c` as its steps; null when something else than a name stands at the start. */
function dotted(node: ASTNode): readonly string[] | null {
  if (node.op === 'id') return [node.args];
  if (node.op !== '.' && node.op !== '.?') return null;
  const before = dotted(node.args[0]);
  return before === null ? null : [...before, node.args[1]];
}

function checkRoot(
  path: readonly string[],
  roots: Roots,
  refuse: (message: string, fix: string) => void,
): void {
  const [root, field] = path;
  const fields = root !== undefined && Object.hasOwn(roots, root) ? roots[root] : undefined;
  if (!fields || field === undefined || fields.includes(field)) return;
  refuse(`${root} has no field "${field}"`, suggest(field, fields));
}
