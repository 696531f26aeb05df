/** The names that an expression reads from its input as a whole. Pure. */
import jsonata from 'jsonata';
import { isObject } from '../../util/is-object.ts';

/**
 * Such as `body` and `status` of `body.ok = true and status = 200`. Names within a filter, a function or behind a variable have another
 * input, and are left out. @throws JSONata's error for text that is no expression
 */
export function rootsOf(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  addRoots(jsonata(text).ast(), names);
  return names;
}

/** A node as JSONata 2.2.2 makes it. */
function addRoots(node: unknown, names: Set<string>): void {
  if (Array.isArray(node)) {
    for (const one of node) addRoots(one, names);
    return;
  }
  if (!isObject(node)) return;
  switch (node['type']) {
    case 'path': {
      const [first] = node['steps'] as unknown[];
      if (isObject(first) && first['type'] === 'name') names.add(String(first['value']));
      else addRoots(first, names);
      return;
    }
    case 'binary':
    case 'apply':
    case 'unary':
      for (const member of ['lhs', 'rhs', 'expression', 'expressions']) addRoots(node[member], names);
      return;
    case 'function':
      addRoots(node['arguments'], names);
      return;
    case 'condition':
      for (const member of ['condition', 'then', 'else']) addRoots(node[member], names);
      return;
    case 'block':
      addRoots(node['expressions'], names);
      return;
    case 'bind':
      addRoots(node['rhs'], names);
      return;
    default:
  }
}
