/** Mappings written as YAML: a mapping or list whose text leaves are JSONata becomes one expression. */
import type { Mapping } from '../compiled-provider.ts';
import { compileMapping } from '../mapping.ts';

/** The place of a key for messages, such as `acme.yaml, line 12`. */
export type PlaceOf = (key: string) => string;

interface Leaf {
  readonly key: string;
  /** Positions of its first and last character in the whole expression, from 1. */
  readonly from: number;
  readonly to: number;
}

/** The expressions in a mapping or list, each with its key. */
export function leavesOf(key: string, value: unknown): { readonly key: string; readonly text: string }[] {
  if (typeof value === 'string') return [{ key, text: value }];
  if (Array.isArray(value)) return value.flatMap((member, index) => leavesOf(`${key}[${index}]`, member));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => leavesOf(`${key}.${name}`, member));
}

/**
 * Compiles text, or a mapping or list at any depth. Text is JSONata; numbers, booleans and null stand for themselves. A member whose
 * expression finds nothing is left out, as in JSONata.
 * @throws ConfigError `bad_mapping`, which names the key of the leaf
 */
export function compileTree(key: string, value: unknown, placeOf: PlaceOf): Mapping {
  if (typeof value === 'string') return compileMapping(key, value, placeOf(key));
  const leaves: Leaf[] = [];
  let text = '';
  const write = (path: string, node: unknown): void => {
    if (typeof node === 'string') {
      // By itself first: a leaf such as `a) & (b` fits into the whole without being an expression.
      compileMapping(path, node, placeOf(path));
      const from = text.length + 2;
      text += `(${node}\n)`;
      leaves.push({ key: path, from, to: from + node.length });
    } else if (Array.isArray(node)) {
      writeAll('[', node.entries(), (index) => `${path}[${index}]`, ']');
    } else if (typeof node === 'object' && node !== null) {
      writeAll('{', Object.entries(node), (name) => `${path}.${name}`, '}');
    } else text += JSON.stringify(node);
  };
  const writeAll = <K>(open: string, members: Iterable<[K, unknown]>, keyOf: (name: K) => string, close: string): void => {
    let separator = open;
    for (const [name, member] of members) {
      text += open === '{' ? `${separator}${JSON.stringify(name)}: ` : separator;
      write(keyOf(name), member);
      separator = ', ';
    }
    text += separator === open ? `${open}${close}` : close;
  };
  write(key, value);
  return compileMapping(key, text, placeOf(key), (position) => {
    const leaf = leaves.find(({ from, to }) => position >= from && position <= to);
    return leaf === undefined ? null : { key: leaf.key, position: position - leaf.from + 1 };
  });
}
